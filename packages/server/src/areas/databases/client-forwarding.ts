import type { Socket } from "node:net"
import type { Logger } from "../../kernel/log.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { Accept } from "../../kernel/tcp-listener.ts"

/** Hands clients of the port to the area that serves them; the first client loads it. */
export const forward = (server: Offer<Accept>, log: Logger): Accept => {
  let accept: Accept | undefined

  const serveFirst = async (socket: Socket) => {
    try {
      accept = await server.get()
    } catch (error) {
      log.error({ err: error }, "loading the handler of the PostgreSQL port failed; connection closed")
    }
    if (accept === undefined) socket.destroy()
    else if (!socket.destroyed) accept(socket)
  }
  return socket => {
    if (accept) accept(socket)
    else void serveFirst(socket)
  }
}
