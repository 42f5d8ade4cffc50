/** A small real HTTP server for the tests of clients: it answers as told and keeps what it received. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import type { TestContext } from "node:test"

export interface Received {
  readonly method: string
  /** Path and query as they came over the wire. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface ScriptedResponse {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent as it is, anything else as JSON; left out: no body. */
  readonly body?: unknown
}

/** `hang` leaves the caller without a reply; `drop` closes the connection. */
export type Act = ScriptedResponse | "hang" | "drop"

/** Serves until the test ends. The second argument of `act` counts the requests from 0. */
export const openEndpoint = async (t: TestContext, act: (request: Received, index: number) => Act) => {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = "", url: path = "", headers } = request
    const entry = { method, path, headers, body: Buffer.concat(chunks).toString() }
    const answer = act(entry, received.push(entry) - 1)
    if (answer === "hang") return
    if (answer === "drop") return void request.socket.destroy()
    const { status = 200, body } = answer
    const type = typeof body === "string" ? "text/plain" : "application/json"
    response.writeHead(status, { "content-type": type, ...answer.headers })
    response.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body))
  })
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
