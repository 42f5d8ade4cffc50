/** Where the RUN steps of a stage are run: a workload over the image so far, which lasts until a file comes from outside. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import type { Readable } from "node:stream"
import { isFault } from "../../../kernel/fault.ts"
import { PortError } from "../../../ports/port-error.ts"
import type { Guest, GuestProcess, RuntimePort } from "../../../ports/runtime/port.ts"
import type { Hosts } from "../../../services/hosts/hosts.ts"
import { BuildError } from "../build-error.ts"
import { whyNoSteps } from "../state.ts"
import type { Owner } from "./copy.ts"

export interface MachineSettings {
  readonly vcpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
}

export interface MachineNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly settings: MachineSettings
}

export interface Command {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly owner: Owner
  /** For its standard input. */
  readonly input: string
  /** Whose changes are none of the image's. */
  readonly leftOut: readonly string[]
}

export type Print = (stream: "stdout" | "stderr", line: string) => void

export interface Machine extends AsyncDisposable {
  /** Runs it; `take` gets a tar of what it changed. Throws a BuildError where it fails. */
  run<Taken>(
    command: Command,
    print: Print,
    signal: AbortSignal,
    take: (tar: Readable) => Promise<Taken>,
  ): Promise<Taken>
}

const LINE_LENGTH_MAX = 4_096
const PROCESSES_MAX = 4_096
const changes = new URL("changes.pl", import.meta.url)

/** Becomes the user of the step, goes where it works, and runs it. */
const START = `my ($uid, $gid, $cwd, @command) = @ARGV;
chdir $cwd or die "directory $cwd: $!\\n";
if ($uid || $gid) {
    $) = "$gid $gid"; $( = $gid; ($<, $>) = ($uid, $uid);
    die "the step cannot become user $uid here\\n" if $> != $uid || $< != $uid;
}
exec { $command[0] } @command or die "$command[0]: $!\\n";`

const printLines = async (from: Readable, print: (line: string) => void): Promise<void> => {
  let rest = ""
  for await (const chunk of from.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split(/\r?\n|\r/)
    rest = lines.pop() ?? ""
    for (const line of lines) print(line.slice(0, LINE_LENGTH_MAX))
    if (rest.length > LINE_LENGTH_MAX) {
      print(rest.slice(0, LINE_LENGTH_MAX))
      rest = ""
    }
  }
  if (rest !== "") print(rest)
}

/** Until the first line of what it says. */
const firstLine = async (from: Readable): Promise<void> => {
  let said = ""
  while (!said.includes("\n")) {
    const chunk: Buffer | null = from.read()
    if (chunk) said += chunk.toString()
    else if (from.readableEnded || from.destroyed)
      throw new BuildError("the files of the step cannot be read")
    else await new Promise<void>(resolve => from.once("readable", resolve).once("end", resolve))
  }
}

const endOf = ({ code, signal }: { code: number | null; signal: string | null }): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`

/** `root`: the unpacked image so far, which nobody changes while the machine runs. */
export const startMachine = async (needs: MachineNeeds, root: string): Promise<Machine> => {
  const { runtime, hosts, settings } = needs
  const why = whyNoSteps(runtime)
  const { perl } = runtime.capabilities
  if (why !== undefined || !perl) throw new BuildError(why ?? "RUN cannot be run here")
  const room = hosts.reserve({ memoryBytes: settings.memoryBytes })
  const id = randomUUID()
  const isFiltered = runtime.capabilities.network === "filtered"
  let guest: Guest
  try {
    guest = await runtime.start({
      ...{ id, hostname: "build", root: { kind: "image", directory: root, bare: true }, mounts: [] },
      ...{ vcpus: settings.vcpus, memoryBytes: settings.memoryBytes, processesMax: PROCESSES_MAX },
      disk: { kind: "scratch", bytes: settings.diskBytes },
      network: isFiltered ? { mode: "filtered", allow: null, deny: [] } : { mode: "none" },
    })
  } catch (error) {
    room[Symbol.dispose]()
    throw error
  }

  const exec = async (argv: readonly [string, ...string[]], env = {}): Promise<GuestProcess> =>
    await guest.exec({ argv, cwd: "/", user: "root", env })

  const step = async ({ argv, cwd, env, owner, input }: Command, print: Print, signal: AbortSignal) => {
    const start = [...perl, "-e", START, String(owner.uid), String(owner.gid), cwd, ...argv] as const
    const running = await exec(start as unknown as readonly [string, ...string[]], env)
    const kill = () => running.kill("SIGKILL")
    signal.addEventListener("abort", kill, { once: true })
    try {
      running.stdin.on("error", () => undefined).end(input)
      const [exit] = await Promise.all([
        running.exited,
        printLines(running.stdout, line => print("stdout", line)),
        printLines(running.stderr, line => print("stderr", line)),
      ])
      signal.throwIfAborted()
      if (exit.code !== 0) throw new BuildError(`the command ended with ${endOf(exit)}`)
    } finally {
      signal.removeEventListener("abort", kill)
      // What it has left running is none of the image's.
      kill()
    }
  }

  return {
    async run(command, print, signal, take) {
      signal.throwIfAborted()
      const watcher = await exec([...perl, "-e", readFileSync(changes, "utf8"), ...command.leftOut])
      watcher.stderr.resume()
      // Where the workload ends under it, what it should have said is missing, and that is told.
      watcher.exited.catch(() => undefined)
      try {
        await firstLine(watcher.stdout)
        await step(command, print, signal)
        watcher.stdin.end("\n")
        return await take(watcher.stdout)
      } catch (error) {
        throw explained(error)
      } finally {
        watcher.kill("SIGKILL")
      }
    },
    async [Symbol.asyncDispose]() {
      await runtime.destroy(id)
      room[Symbol.dispose]()
    },
  }
}

/** What the workload itself ran into is the step's failure. */
const explained = (error: unknown): unknown => {
  if (error instanceof PortError) return new BuildError(`the step's workload ended: ${error.message}`)
  return isFault(error) ? new BuildError(error.message) : error
}
