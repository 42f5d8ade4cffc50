/** A real Valkey or Redis for the tests, in a folder of its own, on a free port and a socket. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, constants } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { freePort } from "../../../../../testing/ports.ts"
import { connect } from "../connection.ts"

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const COMMAND_MS_MAX = 10_000

/** Where the server's program is; undefined when this machine has none. */
export const serverProgram: string | undefined = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap(folder => ["valkey-server", "redis-server"].map(program => join(folder, program)))
  .find(isExecutable)

export interface RealServer extends AsyncDisposable {
  /** By its socket. */
  readonly url: string
  readonly port: number
  command(...command: string[]): Promise<unknown>
  start(): Promise<void>
  stop(): Promise<void>
  signal(name: NodeJS.Signals): void
}

/** Resolves once the server answers. */
const startServer = async (program: string, args: readonly string[]): Promise<ChildProcess> => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] })
  for await (const output of child.stdout ?? []) {
    if (String(output).includes("eady to accept connections")) return child
  }
  throw new Error(`${program} ended before it was ready`)
}

export const createRealServer = async (
  program: string,
  settings: readonly string[] = [],
): Promise<RealServer> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-redis-"))
  const socket = join(folder, "socket")
  const [port, busPort] = [await freePort(), await freePort()]
  const url = `unix://${socket}`
  const place = ["--dir", folder, "--unixsocket", socket, "--bind", "127.0.0.1", "--port", String(port)]
  const bus = settings.includes("--cluster-enabled") ? ["--cluster-port", String(busPort)] : []
  let child: ChildProcess | undefined

  const stop = async (): Promise<void> => {
    if (!child || child.exitCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  }
  return {
    url,
    port,
    async command(...command) {
      await using connection = await connect(url, COMMAND_MS_MAX)
      return await connection.send(command)
    },
    async start() {
      child = await startServer(program, [...place, ...bus, ...settings])
    },
    stop,
    signal: name => void child?.kill(name),
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
