/**
 * A second way to the wire, for connections that this process itself makes for clients of other protocols. It is a port on
 * loopback that takes nobody else: each connection is known by the port that it comes from.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

const HOST = "127.0.0.1"
/** For a connection of ours to be known as such; a stranger's is closed then. */
const CLAIM_WITHIN_MS = 5_000

export interface Inside extends Disposable {
  connect(address: string): Promise<Socket>
}

export const openInside = async (accept: (socket: Socket, address: string) => void): Promise<Inside> => {
  /** By the port of the client's end: its address, or the server's end, whichever is known first. */
  const claims = new Map<number, string>()
  const arrived = new Map<number, Socket>()

  const server = createServer({ pauseOnConnect: true }, socket => {
    socket.on("error", () => undefined)
    const port = socket.remotePort ?? 0
    const address = claims.get(port)
    if (address !== undefined) {
      claims.delete(port)
      return accept(socket, address)
    }
    arrived.set(port, socket)
    const late = setTimeout(() => {
      if (arrived.delete(port)) socket.destroy()
    }, CLAIM_WITHIN_MS)
    late.unref()
  })
  server.listen(0, HOST)
  await once(server, "listening")
  const place = server.address()
  if (typeof place !== "object" || place === null) throw new Error("the inner port has no address")

  return {
    async connect(address) {
      const socket = connect({ host: HOST, port: place.port, noDelay: true })
      await once(socket, "connect")
      const port = socket.localPort ?? 0
      const other = arrived.get(port)
      if (other) {
        arrived.delete(port)
        accept(other, address)
      } else claims.set(port, address)
      return socket
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of arrived.values()) socket.destroy()
    },
  }
}
