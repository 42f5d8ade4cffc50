import { once } from "node:events"
import type { Server } from "node:http"
import { type AddressInfo, createServer, isIPv6, type Socket } from "node:net"
import { errorCode, StartupError } from "./startup-error.ts"

/**
 * The address the platform listens on, taken before anything else starts: a port in use is told at once, and what
 * must know the real port may. Who connects before the platform is ready waits until it is.
 */
export interface Listener extends AsyncDisposable {
  readonly port: number
  /** Gives the address and those who wait to the server, whose `close` gives the address up. */
  handOver(server: Server): Promise<void>
}

/** More than these are turned away during the start. */
const WAITING_MAX = 256

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: "Stop what listens there, or choose another port through SVC_PORT.",
  EACCES: "Choose a port from 1024 on through SVC_PORT, or give Svc the right to use this one.",
  EADDRNOTAVAIL: "Set SVC_HOST to an address of this machine.",
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "something else listens there",
  EACCES: "this user may not",
  EADDRNOTAVAIL: "this machine has no such address",
}

const cannotListen = (host: string, port: number, error: unknown): StartupError => {
  const code = errorCode(error) ?? String(error)
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  return new StartupError(
    `Svc cannot listen on ${address}: ${REASONS[code] ?? code}.`,
    HINTS[code] ?? "Choose another address through SVC_HOST and SVC_PORT.",
    { cause: error },
  )
}

/** Port 0 takes any free one. Throws a StartupError when the address cannot be had. */
export const takeAddress = async (host: string, port: number): Promise<Listener> => {
  const waiting = new Set<Socket>()
  const wait = (socket: Socket) => {
    waiting.add(socket)
    socket.on("error", () => socket.destroy())
    socket.once("close", () => waiting.delete(socket))
  }
  const listener = createServer({ pauseOnConnect: true }, wait)
  listener.maxConnections = WAITING_MAX
  listener.listen({ host, port })
  await once(listener, "listening").catch(error => {
    throw cannotListen(host, port, error)
  })
  let isHandedOver = false

  return {
    port: (listener.address() as AddressInfo).port,
    async handOver(server) {
      server.listen(listener)
      await once(server, "listening")
      isHandedOver = true
      for (const socket of waiting) {
        server.emit("connection", socket)
        socket.resume()
      }
      waiting.clear()
    },
    async [Symbol.asyncDispose]() {
      if (isHandedOver) return
      for (const socket of waiting) socket.destroy()
      listener.close()
      await once(listener, "close")
    },
  }
}
