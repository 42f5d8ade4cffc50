/** HTTPS: ends TLS, and hands the requests to the platform's own server, whichever version of HTTP they come by. */
import { constants } from "node:crypto"
import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { createServer, type SecureContext, type TLSSocket } from "node:tls"
import type { OwnServer } from "../../../kernel/edges/own-server.ts"
import type { Logger } from "../../../kernel/log.ts"
import type { Contexts } from "./contexts.ts"

export interface Entrance extends AsyncDisposable {
  accept(socket: Socket): void
}

const HANDSHAKE_MS_MAX = 10_000
const CONNECTIONS_MAX = 10_000
const LINGER_MS = 2_000

export const createEntrance = (needs: {
  readonly contexts: Contexts
  /** For names without a certificate of their own. */
  readonly fallback: { readonly cert: string; readonly key: string } | undefined
  readonly ownServer: OwnServer
  readonly log: Logger
}): Entrance => {
  const { contexts, fallback, ownServer, log } = needs
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  let http2: ReturnType<typeof openHttp2> | undefined

  /** Loaded by the first who speaks it. */
  const openHttp2 = async () => {
    const { createHttp2 } = await import("./http2.ts")
    return createHttp2({ ownServer, sessions })
  }

  const begin = async (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2") return ownServer.accept(socket)
    http2 ??= openHttp2()
    const accept = await http2
    accept(socket)
  }

  const tls = createServer({
    ...fallback,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: HANDSHAKE_MS_MAX,
    // Only old versions have it, and it costs the server more than the client.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
    honorCipherOrder: true,
    SNICallback(name, done: (error: Error | null, context?: SecureContext) => void) {
      contexts.find(name).then(
        context => done(null, context),
        error => done(error),
      )
    },
  })
  tls.on("secureConnection", socket => {
    socket.on("error", () => socket.destroy())
    begin(socket).catch(error => {
      log.error({ err: error }, "serving an HTTPS connection failed")
      socket.destroy()
    })
  })
  tls.on("tlsClientError", (_error, socket) => socket.destroy())

  return {
    accept(socket) {
      if (sockets.size >= CONNECTIONS_MAX) return void socket.destroy()
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
      tls.emit("connection", socket)
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.close()
      const ended = Promise.all(
        [...sockets].map(socket => new Promise(resolve => socket.once("close", resolve))),
      )
      // What is under way has this long.
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, LINGER_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
