/** The sessions of a connection: shells, commands and sftp. */
import { readFileSync } from "node:fs"
import type { ServerChannel, Session } from "ssh2"
import type { Command, Exit, GuestProcess, GuestUser, TerminalSize } from "../../../ports/runtime/port.ts"
import { LOGIN_SHELL } from "../../../services/workloads/commands.ts"
import type { Live } from "../../../services/workloads/workload.ts"
import type { ComputerItem } from "../policy.ts"
import { createWriter, type Transport, type Write } from "./channel-writer.ts"
import { receiveAll, sendAll } from "./streams.ts"

export interface SessionNeeds {
  readonly user: GuestUser
  readonly transport: Transport
  /** The computer, awaited while it starts; or what to tell the client in its place. */
  readonly reach: () => Promise<Live<ComputerItem> | string>
  /** A signal that aborts when the channel is closed; undefined where there can be none. */
  readonly admit: (channel: ServerChannel) => AbortSignal | undefined
}

/** What a client asks for before it says what is to run. */
interface Wishes {
  terminal: (TerminalSize & { readonly term: string }) | undefined
  readonly env: Map<string, string>
}

/** As sshd of Debian takes them, without what programs that load code by their environment would obey. */
const ENV_NAME = /^(LANG|LC_[A-Z]{1,32}|COLORTERM|TZ)$/
const ENV_MAX = 32
const ENV_VALUE_MAX = 256
const TERM = /^[A-Za-z0-9+._-]{1,64}$/
const SIDE_MAX = 10_000
/** As ssh itself ends when it cannot do what it should. */
const FAILED: Exit = { code: 255, signal: null }
const SIGNALS = new Map([
  ["TERM", "SIGTERM"],
  ["KILL", "SIGKILL"],
  ["INT", "SIGINT"],
  ["HUP", "SIGHUP"],
] as const)

type SignalName = NonNullable<ReturnType<(typeof SIGNALS)["get"]>>

const sftpServer = readFileSync(new URL("guest/sftp-server.pl", import.meta.url), "utf8")

/** The texts are fixed, and what the client says is an argument. */
const argvs = {
  shell: (): Command["argv"] => LOGIN_SHELL,
  exec: (command: string): Command["argv"] => ["/bin/sh", "-c", 'exec "$SHELL" -c "$1"', "sh", command],
  /** The computer's own server where it has one. */
  sftp: (): Command["argv"] => [
    "/bin/sh",
    "-c",
    'for at in lib/openssh lib/ssh libexec libexec/openssh; do [ -x "/usr/$at/sftp-server" ] && exec "/usr/$at/sftp-server"; done; exec perl -e "$1"',
    "sh",
    sftpServer,
  ],
}

const side = (cells: number, otherwise: number): number =>
  cells >= 1 && cells <= SIDE_MAX ? Math.trunc(cells) : otherwise

const sizeOf = ({ cols, rows }: { readonly cols: number; readonly rows: number }): TerminalSize => ({
  columns: side(cols, 80),
  rows: side(rows, 24),
})

const commandOf = (argv: Command["argv"], { item }: Live<ComputerItem>, user: GuestUser, wishes: Wishes) => ({
  argv,
  user,
  cwd: user === "root" ? "/root" : item.defaults.cwd,
  env: {
    ...item.defaults.env,
    ...Object.fromEntries(wishes.env),
    ...(wishes.terminal && { TERM: wishes.terminal.term }),
  },
  ...(wishes.terminal && { terminal: wishes.terminal }),
})

const leave = (channel: ServerChannel, { code, signal }: Exit): void => {
  if (code === null) channel.exit((signal ?? "SIGKILL").slice("SIG".length))
  else channel.exit(code)
  channel.end()
}

const refuse = async (channel: ServerChannel, write: Write, text: string): Promise<void> => {
  channel.resume()
  await write("stderr", Buffer.from(`svc: ${text}\r\n`))
  leave(channel, FAILED)
}

/** Tells the client all that a command says, and how it ends. */
const follow = async (channel: ServerChannel, write: Write, process: GuestProcess): Promise<void> => {
  const written = Promise.all([
    sendAll(process.stdout, "stdout", write),
    sendAll(process.stderr, "stderr", write),
  ])
  try {
    const exit = await process.exited
    await written
    leave(channel, exit)
  } catch {
    await written
    await refuse(channel, write, "the computer has stopped")
  }
}

export const serveSession = (session: Session, needs: SessionNeeds): void => {
  const { user, transport, reach, admit } = needs
  const wishes: Wishes = { terminal: undefined, env: new Map() }
  let running: GuestProcess | undefined

  const run = async (channel: ServerChannel, gone: AbortSignal, argv: Command["argv"], isPlain: boolean) => {
    const write = createWriter(channel, transport, gone)
    const live = await reach()
    if (typeof live === "string") return await refuse(channel, write, live)
    const chosen = isPlain ? { ...wishes, terminal: undefined } : wishes
    const process = await live.guest.exec(commandOf(argv, live, user, chosen)).catch(() => undefined)
    if (!process) return await refuse(channel, write, "the computer cannot run this now")
    running = process
    // Who hangs up takes his terminal with him; what is to last ignores that, as under any sshd.
    gone.addEventListener("abort", () => process.kill("SIGHUP"))
    if (gone.aborted) process.kill("SIGHUP")
    receiveAll(channel, process.stdin, gone)
    await follow(channel, write, process)
  }

  const open = (accept: () => ServerChannel, argv: Command["argv"], isPlain = false): void => {
    const channel: ServerChannel | undefined = accept()
    // A second command of one session is not accepted.
    const gone = channel && admit(channel)
    if (gone) run(channel, gone, argv, isPlain).catch(() => channel.destroy())
  }

  session.on("pty", (accept, _reject, info) => {
    wishes.terminal = { ...sizeOf(info), term: TERM.test(info.term) ? info.term : "xterm-256color" }
    accept?.()
  })
  session.on("window-change", (accept, _reject, info) => {
    const size = sizeOf(info)
    if (wishes.terminal) wishes.terminal = { ...wishes.terminal, ...size }
    if (wishes.terminal) running?.resize(size)
    accept?.()
  })
  session.on("env", (accept, reject, { key, val }) => {
    const fits = ENV_NAME.test(key) && wishes.env.size < ENV_MAX && val.length <= ENV_VALUE_MAX
    if (!fits || val.includes("\0")) return void reject?.()
    wishes.env.set(key, val)
    accept?.()
  })
  session.on("signal", (accept, reject, { name }) => {
    const signal: SignalName | undefined = SIGNALS.get(name.replace(/^SIG/, "") as "TERM")
    if (!signal || !running) return void reject?.()
    running.kill(signal)
    accept?.()
  })
  session.on("shell", accept => open(accept, argvs.shell()))
  session.on("exec", (accept, _reject, { command }) => open(accept, argvs.exec(command)))
  session.on("subsystem", (accept, reject, { name }) => {
    if (name === "sftp") open(accept, argvs.sftp(), true)
    else reject?.()
  })
}
