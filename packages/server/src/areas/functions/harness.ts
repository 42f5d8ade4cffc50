import type { Hosts } from "../../core/hosts/hosts.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Exit, Guest, GuestProcess, RuntimePort } from "../../ports/runtime/port.ts"
import type { CodeFolders } from "./code-folders.ts"
import { createLineCutter, type Frame, type FunctionError, readFrame } from "./frames.ts"
import type { LanguageRuntime } from "./runtimes.ts"

export interface HarnessNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Pick<Hosts, "reserve">
  readonly folders: CodeFolders
  readonly log: Logger
}

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
  text(chunk: Buffer): void
}

/** A workload with a process in it that waits for the code of a function. */
export interface Harness {
  /** What it sees as its code. */
  readonly folder: string
  listen(listener: HarnessListener): void
  /** From now on only frames with this nonce are taken. */
  expect(nonce: string): void
  send(frame: object): void
  /** Stops hearing what it prints for a moment: whoever prints without end must wait. */
  slow(): void
  /** Resolves once it is gone with all it had, with the reason. */
  readonly ended: Promise<FunctionError>
  /** Ends it now; the error is what `ended` gives. */
  end(reason: FunctionError): void
  /** Ends it, and gives up its place on the host without waiting for that. */
  giveUp(): void
}

export const START_MS_MAX = 30_000
/** Room for /tmp and what the function writes. */
const DISK_BYTES = 512 * 2 ** 20
const PROCESSES_MAX = 256
const TEXT_KEPT = 4_096
const SLOW_MS = 50

/**
 * The channel moves to descriptors 3 and 4, and what the function prints to 1 and 2 goes elsewhere before its code is
 * loaded. The text is fixed; the program comes as arguments.
 */
const APART = 'exec 3<&0 4>&1 </dev/null >&2; exec "$@"'

const ENV = { HOME: "/home/user", LANG: "C.UTF-8", PATH: "/usr/local/bin:/usr/bin:/bin", TMPDIR: "/tmp" }

export const crash = (message: string): FunctionError => ({ type: "Crash", message, stack: null })
const outOfMemory = (memoryMb: number): FunctionError => ({
  type: "OutOfMemory",
  message: `the function needed more than its ${memoryMb} MB of memory`,
  stack: null,
})

const describeExit = (exit: Exit | undefined): FunctionError => {
  if (!exit) return crash("the instance ended")
  return crash(
    exit.signal === null
      ? `the process ended with code ${exit.code}`
      : `the process was ended by ${exit.signal}`,
  )
}

const specOf = (id: string, { language, memoryMb, vcpus }: Shape, folder: string, runtime: RuntimePort) => ({
  id,
  hostname: "function",
  root: { kind: "host" } as const,
  disk: { kind: "memory", bytes: DISK_BYTES } as const,
  vcpus,
  memoryBytes: memoryMb * 2 ** 20,
  processesMax: PROCESSES_MAX,
  network:
    runtime.capabilities.network === "none"
      ? ({ mode: "none" } as const)
      : ({ mode: "filtered", allow: null, deny: [] } as const),
  mounts: [...language.mounts, { source: folder, target: "/var/task" }],
})

const open = (
  needs: HarnessNeeds,
  { memoryMb }: Shape,
  own: {
    readonly id: string
    readonly folder: string
    readonly guest: Guest
    readonly process: GuestProcess
  },
  { release, reserved }: { readonly release: () => Promise<void>; readonly reserved: Disposable },
): { harness: Harness; up: Promise<void> } => {
  const { process, guest, folder, id } = own
  const up = Promise.withResolvers<void>()
  let nonce: string | undefined
  let listener: HarnessListener | undefined
  let reason: FunctionError | undefined
  let tail = ""

  const end = (why: FunctionError) => {
    reason ??= why
    process.kill("SIGKILL")
  }
  const cut = createLineCutter(line => {
    const frame = readFrame(line, nonce)
    if (!frame) return end(crash("the function broke the channel to the platform"))
    if (frame.kind === "up") up.resolve()
    else listener?.frame(frame)
  })
  process.stdout.on("data", (chunk: Buffer) => {
    if (!cut(chunk)) end(crash("the function broke the channel to the platform"))
  })
  process.stderr.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString("latin1")).slice(-TEXT_KEPT)
    listener?.text(chunk)
  })
  // What breaks a stream ends the process, and that is what is heard of.
  for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on("error", () => undefined)

  const killsFor = async (id: string): Promise<number> =>
    (await needs.runtime.stats(id).catch(() => undefined))?.outOfMemoryKills ?? 0

  const finish = async (): Promise<FunctionError> => {
    const exit = await process.exited.catch(() => undefined)
    const wasKilled = exit?.signal === "SIGKILL" && reason === undefined
    const kills = wasKilled ? await killsFor(id) : 0
    await needs.runtime.stop(id, 0)
    const why = await guest.ended
    await release()
    const heapIsFull = tail.includes("heap out of memory")
    if (reason) return reason
    return why === "out_of_memory" || kills > 0 || heapIsFull ? outOfMemory(memoryMb) : describeExit(exit)
  }
  const ended = finish().catch(error => {
    needs.log.error({ err: error, workload: id }, "a function's instance did not end well")
    return reason ?? crash("the instance ended")
  })
  ended.then(why => up.reject(new Error(`a harness ended: ${why.message}: ${tail}`)))
  up.promise.catch(() => undefined)

  const harness: Harness = {
    folder,
    listen: next => {
      listener = next
    },
    expect: next => {
      nonce = next
    },
    send: frame => void process.stdin.write(`${JSON.stringify(frame)}\n`),
    slow() {
      if (process.stderr.isPaused()) return
      process.stderr.pause()
      setTimeout(() => process.stderr.resume(), SLOW_MS).unref()
    },
    ended,
    end,
    giveUp() {
      end(crash("its place is needed"))
      reserved[Symbol.dispose]()
    },
  }
  return { harness, up: up.promise }
}

/** Starts a workload and the harness in it. Throws `no_host_capacity`, or a PortError. */
export const startHarness = async (needs: HarnessNeeds, shape: Shape): Promise<Harness> => {
  const { runtime, hosts, folders } = needs
  const id = newId()
  const reserved = hosts.reserve({ memoryBytes: shape.memoryMb * 2 ** 20 })
  let folder: string | undefined
  const release = async () => {
    await runtime.destroy(id)
    if (folder !== undefined) await folders.remove(folder)
    reserved[Symbol.dispose]()
  }
  try {
    folder = await folders.make(id)
    const guest = await runtime.start(specOf(id, shape, folder, runtime))
    const [program, ...rest] = shape.language.command(shape.memoryMb)
    const argv = ["/bin/sh", "-c", APART, "sh", program ?? "", ...rest] as const
    const process = await guest.exec({ argv: [...argv], cwd: "/tmp", env: ENV, user: "user" })
    const { harness, up } = open(needs, shape, { id, folder, guest, process }, { release, reserved })
    const timer = setTimeout(() => harness.end(crash("the instance did not start in time")), START_MS_MAX)
    try {
      await up
    } finally {
      clearTimeout(timer)
    }
    return harness
  } catch (error) {
    await release().catch(failure =>
      needs.log.error({ err: failure, workload: id }, "a workload was left over"),
    )
    throw error
  }
}
