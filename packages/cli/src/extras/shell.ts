/** Shells over WebSockets: this terminal becomes that of a command somewhere else. */
import { spawnSync } from "node:child_process"
import { constants } from "node:os"
import type { Terminal as RemoteTerminal } from "@svc/sdk"
import type { Flags, OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { createEscapes } from "../escapes.ts"
import { sandboxId } from "../names.ts"
import { type Terminal, UsageError, type Writer } from "../terminal.ts"
import type { Extra } from "./extra.ts"

export const shellFlags: OwnFlags = {
  root: { type: "boolean", about: "As root" },
  cwd: { type: "string", about: "The directory to begin in" },
}

export const sandboxShellUsage = `svc sandboxes shell <name or id> [--root] [--cwd <directory>] [-- <command>]

Its exit code is that of the shell or command. Without a terminal here there is none there: input and outputs are piped.
Enter, ~ and . end a shell that does not answer any more.`

/** What is asked for, beside the size. */
export const shellInput = (words: readonly string[], { root, cwd }: Flags) => ({
  ...(words.length > 0 && { command: words.join(" ") }),
  ...(root === true && { user: "root" as const }),
  ...(typeof cwd === "string" && { cwd }),
})

export interface Screen {
  readonly tty: boolean
  readonly columns?: number
  readonly rows?: number
  readonly term?: string
}

const TERM = /^[A-Za-z0-9+._-]{1,64}$/

const screenOf = ({ env, stdin, out }: Terminal): Screen => {
  const size = stdin.isTTY ? out.size() : undefined
  if (!size) return { tty: false }
  const { TERM: term = "" } = env
  return { tty: true, ...size, ...(TERM.test(term) && { term }) }
}

/** Shows all of it, as fast as it is taken here. */
const show = async (stream: ReadableStream<Uint8Array>, writer: Writer): Promise<void> => {
  for await (const chunk of stream) await writer.bytes(chunk)
}

/** Sends what is typed or piped in, and its end. */
const type = async (
  stdin: NodeJS.ReadStream,
  { input, close }: RemoteTerminal,
  tty: boolean,
): Promise<void> => {
  const writer = input.getWriter()
  const escapes = createEscapes()
  try {
    for await (const chunk of stdin) {
      const typed = tty ? escapes(chunk as Buffer) : { bytes: chunk as Buffer, leaves: false }
      await writer.write(typed.bytes)
      if (typed.leaves) return close()
    }
    await writer.close()
  } catch {
    // How the command ended is told by its exit.
  }
}

/** Keys and output pass as they are until this is disposed of, or the process ends. */
const rawMode = (stdin: NodeJS.ReadStream): Disposable => {
  stdin.setRawMode(true)
  // Node's raw mode goes on to turn line feeds into new lines, which programs of the whole screen do not mean by them.
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] })
  return { [Symbol.dispose]: () => void stdin.setRawMode(false) }
}

const ENDING = ["SIGTERM", "SIGHUP"] as const

/** Runs until the command ends, and gives its exit code. The terminal here is as before then, whatever happened. */
export const runShell = async (
  terminal: Terminal,
  open: (screen: Screen) => Promise<RemoteTerminal>,
): Promise<number> => {
  const { stdin, out, err } = terminal
  const screen = screenOf(terminal)
  const remote = await open(screen)
  using ends = new DisposableStack()
  if (screen.tty) {
    ends.use(rawMode(stdin))
    const resize = () => remote.resize(out.size() ?? { columns: 80, rows: 24 })
    ends.use(out.onResize(resize))
    // It may have changed while the other side was reached.
    resize()
  }
  let endedBy: (typeof ENDING)[number] | undefined
  for (const signal of ENDING) {
    const end = () => {
      endedBy = signal
      remote.close()
    }
    process.on(signal, end)
    ends.defer(() => void process.off(signal, end))
  }
  // Nothing is read any more, so that this process can end.
  ends.defer(() => void stdin.destroy())
  void type(stdin, remote, screen.tty)
  try {
    await Promise.all([show(remote.output, out), show(remote.errors, err)])
    return (await remote.exited).exit_code
  } catch (error) {
    if (endedBy) return 128 + constants.signals[endedBy]
    throw error
  }
}

export const sandboxShell: Extra = async (globals, [name, ...words], terminal, flags) => {
  if (name === undefined) throw new UsageError("name the sandbox", "sandboxes shell")
  const svc = await connectWithKey(globals, terminal)
  const id = await sandboxId(svc, name)
  return runShell(terminal, screen => svc.sandboxes.terminal({ id, ...shellInput(words, flags), ...screen }))
}
