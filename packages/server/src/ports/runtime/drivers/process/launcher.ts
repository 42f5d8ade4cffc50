/** The process whose children the workloads are, and the socket that their agents come to. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { constants } from "node:fs"
import { open, rm } from "node:fs/promises"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { PortError } from "../../../port-error.ts"
import { words } from "../../guest/frames.ts"

export interface Launched {
  readonly socket: Socket
  /** Of the workload's first process, as this machine counts. */
  readonly pid: number
  /** Resolves when it has ended, and with it all others of the workload: its exit code, 0 when a signal ended it. */
  readonly ended: Promise<number>
}

/** Names and values; a name may come more than once. */
export type LaunchRequest = readonly (readonly [name: string, value: string | Buffer])[]

export interface Launcher extends AsyncDisposable {
  launch(request: LaunchRequest): Promise<Launched>
}

interface Pending {
  readonly started: PromiseWithResolvers<number>
  readonly arrived: PromiseWithResolvers<Socket>
  readonly ended: PromiseWithResolvers<number>
}

const SOCKET_NAME = "guests.sock"
const LAUNCH_MS_MAX = 30_000
/** Only for who ended without a word; on a machine that is busy the others' words come late. */
const LAST_WORDS_MS = 5_000
const LOG_CHARACTERS_MAX = 500
const TICKET_BYTES = 37

/** The first line names the launch; what follows is the agent's. */
const readTicket = (socket: Socket, found: (ticket: string) => void): void => {
  const read = () => {
    const ticket: Buffer | null = socket.read(TICKET_BYTES)
    if (ticket === null) return
    socket.off("readable", read)
    found(ticket.toString("latin1").trim())
  }
  socket.on("readable", read).on("error", () => undefined)
}

/** `directory` is ours alone. `perl` is where it is, and `program` what it runs. */
export const openLauncher = async (options: {
  perl: string
  program: string
  directory: string
  log: (line: string) => void
}): Promise<Launcher> => {
  const { perl, program, directory, log } = options
  const pending = new Map<string, Pending>()
  await rm(join(directory, SOCKET_NAME), { force: true })
  // The path of a socket has 108 bytes at most; that of the directory may have more.
  const place = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  const server = createServer({ pauseOnConnect: false }, socket =>
    readTicket(socket, ticket => {
      const launch = pending.get(ticket)
      if (launch) launch.arrived.resolve(socket)
      else socket.destroy()
    }),
  )
  server.listen(`/proc/self/fd/${place.fd}/${SOCKET_NAME}`)
  await once(server, "listening")

  const hear = (line: string): void => {
    const [what, ticket = "", ...rest] = line.split(" ")
    const launch = pending.get(ticket)
    if (what === "started") launch?.started.resolve(Number(rest[0]))
    else if (what === "failed") launch?.started.reject(new PortError("unavailable", rest.join(" ")))
    else if (what === "ended") launch?.ended.resolve(Number(rest[0]))
  }

  const begin = (): ChildProcess => {
    const child = spawn(perl, [program], { cwd: directory, env: {}, stdio: ["pipe", "pipe", "pipe"] })
    createInterface({ input: child.stdout as Readable }).on("line", hear)
    createInterface({ input: child.stderr as Readable }).on("line", line =>
      log(line.slice(0, LOG_CHARACTERS_MAX)),
    )
    child.stdin?.on("error", () => undefined)
    child
      .on("error", error => log(error.message))
      .on("close", () => {
        for (const launch of pending.values()) {
          launch.started.reject(new PortError("unavailable", "the launcher has ended"))
          launch.ended.resolve(0)
        }
      })
    return child
  }

  let child = begin()
  const current = (): Writable => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) child = begin()
    if (!child.stdin) throw new PortError("unavailable", "the launcher did not start")
    return child.stdin
  }

  return {
    async launch(request) {
      const ticket = randomUUID()
      const launch: Pending = {
        started: Promise.withResolvers(),
        arrived: Promise.withResolvers(),
        ended: Promise.withResolvers(),
      }
      for (const { promise } of [launch.started, launch.arrived]) promise.catch(() => undefined)
      pending.set(ticket, launch)
      const ended = launch.ended.promise.then(code => {
        pending.delete(ticket)
        const silent = new PortError("unavailable", "the workload ended before its agent spoke")
        // What it said may still be on its way.
        setTimeout(() => launch.arrived.reject(silent), LAST_WORDS_MS).unref()
        return code
      })
      const timer = setTimeout(
        () => launch.arrived.reject(new PortError("unavailable", "the workload did not start in time")),
        LAUNCH_MS_MAX,
      )
      try {
        current().write(words(words(...[["ticket", ticket] as const, ...request].flat())))
        const pid = await launch.started.promise
        const socket = await launch.arrived.promise
        return { socket, pid, ended }
      } catch (error) {
        launch.ended.resolve(0)
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        const closed = once(child, "close")
        child.stdin?.end()
        await closed
      }
      server.close()
      await place.close()
      await rm(join(directory, SOCKET_NAME), { force: true })
    },
  }
}
