/** The socket to which agents come from their containers, in a folder that those see. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { constants } from "node:fs"
import { mkdir, open, rm } from "node:fs/promises"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"

export interface Arrivals extends AsyncDisposable {
  /** To be bound into containers. */
  readonly directory: string
  /** The name under which one agent is to come, once. */
  expect(): Disposable & { readonly ticket: string; readonly arrived: Promise<Socket> }
}

export const SOCKET_NAME = "guests.sock"
const TICKET_BYTES = 37
/** For what comes without a ticket. */
const TICKET_MS_MAX = 10_000

/** The first line is the ticket; what follows is the agent's. */
const readTicket = (socket: Socket, found: (ticket: string) => void): void => {
  const timer = setTimeout(() => socket.destroy(), TICKET_MS_MAX)
  const read = () => {
    const ticket: Buffer | null = socket.read(TICKET_BYTES)
    if (ticket === null) return
    clearTimeout(timer)
    socket.off("readable", read)
    found(ticket.toString("latin1").trim())
  }
  socket.on("readable", read).on("error", () => undefined)
  socket.on("close", () => clearTimeout(timer))
}

/** `directory` is made, for the socket alone. */
export const openArrivals = async (directory: string): Promise<Arrivals> => {
  const expected = new Map<string, (socket: Socket) => void>()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await rm(join(directory, SOCKET_NAME), { force: true })
  // The path of a socket has 108 bytes at most; that of the directory may have more.
  const place = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  const server = createServer(socket =>
    readTicket(socket, ticket => {
      const arrive = expected.get(ticket)
      expected.delete(ticket)
      if (arrive) arrive(socket)
      else socket.destroy()
    }),
  )
  server.listen(`/proc/self/fd/${place.fd}/${SOCKET_NAME}`)
  await once(server, "listening")
  return {
    directory,
    expect() {
      const ticket = randomUUID()
      const { promise: arrived, resolve } = Promise.withResolvers<Socket>()
      expected.set(ticket, resolve)
      return { ticket, arrived, [Symbol.dispose]: () => void expected.delete(ticket) }
    },
    async [Symbol.asyncDispose]() {
      server.close()
      await place.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
