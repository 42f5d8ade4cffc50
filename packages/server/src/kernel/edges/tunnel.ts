import type { Duplex } from "node:stream"

export interface Tunnel {
  /** The caller's. */
  readonly socket: Duplex
  /** The socket of the peer that accepted the upgrade. */
  readonly connection: Duplex
  /** Of the agreement: names and values in turn, without those of the connection. */
  readonly headers: readonly string[]
  /** What each had sent already. */
  readonly first: Buffer
  readonly head: Buffer
}

const lines = (pairs: readonly string[]): string =>
  pairs.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("")

/** Tells the caller that it goes on as a WebSocket, and then passes bytes both ways. */
export const openTunnel = ({ socket, connection, headers, first, head }: Tunnel): void => {
  const agreed = `Connection: Upgrade\r\nUpgrade: websocket\r\n${lines(headers)}`
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${agreed}\r\n`, "latin1")
  socket.write(first)
  connection.write(head)
  connection.pipe(socket)
  socket.pipe(connection)
}
