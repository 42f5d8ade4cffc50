import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import type { Logger } from "./log.ts"

/** Takes a connection, and whatever becomes of it. */
export type Accept = (socket: Socket) => void

export interface TcpListenerOptions {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** Sockets are handed on before anything is read from them, as another process needs them that takes them over. */
  readonly pausesSockets?: boolean | undefined
  /** Who serves, found when the first comes. */
  readonly server: () => Promise<Accept | undefined>
  readonly log: Logger
}

/** A port that listens at once, whatever it takes to load who serves it. */
export interface TcpListener extends AsyncDisposable {
  readonly port: number
}

/** Connections beyond this number are closed while the handler is loading. */
const WAITING_MAX = 100

/** Rejects with the error of `listen` where the address cannot be had. */
export const openTcpListener = async ({
  host,
  port,
  pausesSockets = false,
  server,
  log,
}: TcpListenerOptions): Promise<TcpListener> => {
  const waiting = new Set<Socket>()
  let accept: Accept | undefined

  const find = async (socket: Socket) => {
    waiting.add(socket)
    socket.once("close", () => waiting.delete(socket))
    try {
      accept = await server()
    } catch (error) {
      log.error({ err: error, port }, "loading the handler of a TCP port failed; connection closed")
    }
    waiting.delete(socket)
    if (accept === undefined) socket.destroy()
    else if (!socket.destroyed) accept(socket)
  }
  const tcp = createServer({ noDelay: true, pauseOnConnect: pausesSockets }, socket => {
    socket.on("error", () => undefined)
    if (accept) accept(socket)
    else if (waiting.size >= WAITING_MAX) socket.destroy()
    else void find(socket)
  })
  tcp.listen({ host, port })
  await once(tcp, "listening")
  tcp.on("error", error => log.warn({ err: error, port }, "accepting a connection on a TCP port failed"))
  return {
    port: (tcp.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      tcp.close()
      // Connections that were passed to the handler are closed by it.
      for (const socket of waiting) socket.destroy()
    },
  }
}
