import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** The platform's server of HTTP, for what an area received by itself. */
export interface OwnServer {
  /** Serves the requests of a connection, as if it had been accepted there. */
  accept(connection: Duplex): void
  /** Answers a request, as if it had come there. */
  handle(request: IncomingMessage, response: ServerResponse): void
}

export const createOwnServer = (): OwnServer & { attach(server: Server): void } => {
  let own: Server | undefined
  return {
    attach(server) {
      own = server
    },
    accept(connection) {
      if (own) own.emit("connection", connection)
      else connection.destroy()
    },
    handle(request, response) {
      if (own) own.emit("request", request, response)
      else response.destroy()
    },
  }
}
