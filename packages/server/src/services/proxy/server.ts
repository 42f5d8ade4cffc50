/** A server of HTTP whose requests are all passed on: for ports that are not the platform's own. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"

export interface ProxyServer extends AsyncDisposable {
  readonly port: number
}

const HEADERS_BYTES_MAX = 16_384
/** For a request's headers to arrive: a client that sends them byte by byte holds no connection for longer. */
const HEADERS_MS_MAX = 15_000
const KEEP_ALIVE_MS = 72_000
const CONNECTIONS_MAX = 10_000
const LINGER_MS = 2_000

const statusOf = (code: string | undefined): string => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "408 Request Timeout"
  if (code === "HPE_HEADER_OVERFLOW") return "431 Request Header Fields Too Large"
  return "400 Bad Request"
}

/** Rejects with the error of `listen` where the port cannot be had. */
export const openProxyServer = async (options: {
  readonly host: string
  readonly port: number
  readonly serve: RequestListener
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}): Promise<ProxyServer> => {
  const { host, port, serve, upgrade } = options
  const server = createServer(
    {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: HEADERS_MS_MAX,
      connectionsCheckingInterval: HEADERS_MS_MAX / 5,
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false,
      shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === "websocket",
    },
    serve,
  )
  server.maxConnections = CONNECTIONS_MAX
  server
    .on("checkContinue", serve)
    .on("checkExpectation", serve)
    .on("connect", (_request, socket: Duplex) => void socket.destroy())
    .on("upgrade", upgrade)
    .on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()
      socket.end(`HTTP/1.1 ${statusOf(error.code)}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
      setTimeout(() => socket.destroy(), LINGER_MS).unref()
    })
  server.listen({ host, port })
  await once(server, "listening")
  server.on("error", () => undefined)
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close")
      server.close()
      server.closeIdleConnections()
      // What is under way has this long.
      const timer = setTimeout(() => server.closeAllConnections(), LINGER_MS)
      await closed
      clearTimeout(timer)
    },
  }
}
