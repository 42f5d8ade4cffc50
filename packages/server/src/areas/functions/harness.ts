import {
  crash,
  outOfMemory,
  startWorkload,
  type Workload,
  type WorkloadNeeds,
} from "../../services/serving/workload.ts"
import { createLineCutter, type Frame, type FunctionError, readFrame } from "./frames.ts"
import { CODE_FOLDER, functionKind } from "./kind.ts"
import type { LanguageRuntime } from "./runtimes.ts"

/** What a workload must be like before it is known which function it runs. */
export interface Shape {
  readonly language: LanguageRuntime
  readonly memoryMb: number
  readonly vcpus: number
}

/** Who hears a harness; one at a time. */
export interface HarnessListener {
  frame(frame: Frame): void
  /** What was printed past the harness, by a program that the function started or by the engine itself. */
  text(chunk: Buffer, stream: "stdout" | "stderr"): void
}

/** A workload with a process in it that waits for the code of a function. */
export interface Harness
  extends Pick<Workload, "folder" | "isResting" | "rest" | "cpuMs" | "ended" | "end" | "giveUp"> {
  listen(listener: HarnessListener): void
  /** From now on only frames with this nonce are taken. */
  expect(nonce: string): void
  send(frame: object): void
  /** Stops hearing what it prints for a moment: whoever prints without end must wait. */
  slow(): void
}

export const START_MS_MAX = 30_000
const TEXT_KEPT = 4_096
const SLOW_MS = 50

/**
 * The channel moves to descriptors 3 and 4, and what the function prints to 1 and 2 goes elsewhere before its code is
 * loaded. The text is fixed; the program comes as arguments.
 */
const APART = 'exec 3<&0 4>&1 </dev/null >&2; exec "$@"'

const ENV = { HOME: "/home/user", LANG: "C.UTF-8", PATH: "/usr/local/bin:/usr/bin:/bin", TMPDIR: "/tmp" }

export const slower =
  (...streams: readonly Workload["process"]["stderr"][]) =>
  () => {
    for (const stream of streams) {
      if (stream.isPaused()) continue
      stream.pause()
      setTimeout(() => stream.resume(), SLOW_MS).unref()
    }
  }

const open = (workload: Workload, memoryMb: number): { harness: Harness; up: Promise<void> } => {
  const { process, end } = workload
  const up = Promise.withResolvers<void>()
  let nonce: string | undefined
  let listener: HarnessListener | undefined
  let tail = ""

  const breach = () => end(crash("the function broke the channel to the platform"))
  const cut = createLineCutter(line => {
    const frame = readFrame(line, nonce)
    if (!frame) return breach()
    if (frame.kind === "up") up.resolve()
    else listener?.frame(frame)
  })
  process.stdout.on("data", (chunk: Buffer) => {
    if (!cut(chunk)) breach()
  })
  process.stderr.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString("latin1")).slice(-TEXT_KEPT)
    listener?.text(chunk, "stderr")
  })
  // A heap of JavaScript values has a bound of its own.
  const ended = workload.ended.then(
    (why): FunctionError =>
      why.type === "Crash" && tail.includes("heap out of memory") ? outOfMemory(functionKind, memoryMb) : why,
  )
  ended.then(why => up.reject(new Error(`a harness ended: ${why.message}: ${tail}`)))
  up.promise.catch(() => undefined)

  const { folder, rest, cpuMs, giveUp } = workload
  const harness: Harness = {
    ...{ folder, rest, cpuMs, ended, end, giveUp },
    get isResting() {
      return workload.isResting
    },
    listen: next => {
      listener = next
    },
    expect: next => {
      nonce = next
    },
    send(frame) {
      workload.wake()
      process.stdin.write(`${JSON.stringify(frame)}\n`)
    },
    slow: slower(process.stderr),
  }
  return { harness, up: up.promise }
}

/**
 * Starts a workload and the harness in it; a spare one takes no other's place. Throws `no_host_capacity`, or a PortError.
 */
export const startHarness = async (
  needs: WorkloadNeeds,
  { language, memoryMb, vcpus }: Shape,
  isSpare: boolean,
): Promise<Harness> => {
  const [program, ...rest] = language.command(memoryMb)
  const workload = await startWorkload(
    needs,
    { memoryMb, vcpus, isSpare },
    {
      ...{ root: { kind: "host" }, mounts: language.mounts, cwd: "/tmp", env: ENV, user: "user" },
      files: { at: CODE_FOLDER },
      argv: ["/bin/sh", "-c", APART, "sh", program ?? "", ...rest],
    },
  )
  const { harness, up } = open(workload, memoryMb)
  const timer = setTimeout(() => harness.end(crash("the instance did not start in time")), START_MS_MAX)
  try {
    await up
  } finally {
    clearTimeout(timer)
  }
  return harness
}
