/** The area's operations behind a plain HTTP server, for clients that bring their own `fetch`. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { TestContext } from "node:test"
import { areas, heldMask, type Scope } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import { anonymous } from "../../../kernel/exchange.ts"
import { fault, isFault } from "../../../kernel/fault.ts"
import { refusal } from "../../../kernel/pipeline.ts"
import { sqlHandlers } from "../handlers.ts"
import { createNormalize } from "../normalize.ts"
import type { LoggedCall, QueryLog } from "../query-log.ts"
import type { SqlRig } from "./sessions.ts"

export interface SqlServer {
  readonly url: string
  readonly logged: LoggedCall[]
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>
}

/** Ways in that need a whole platform. */
const notHere = (): never => {
  throw new Error("not in this test")
}

export const serveSql = async (
  t: TestContext,
  rig: SqlRig,
  scopes: readonly Scope[] = ["database:query"],
): Promise<SqlServer> => {
  const logged: LoggedCall[] = []
  const queryLog: QueryLog = {
    normalize: createNormalize(),
    record: call => void logged.push(call),
    recordWire: () => undefined,
    flush: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
  const targets = { of: async () => rig.target }
  const logins = {
    payerOf: notHere,
    find: notHere,
    of: notHere,
    close: notHere,
    [Symbol.asyncDispose]: async () => undefined,
  }
  const operations = sqlHandlers({
    ...{ ...rig, targets, queryLog, logins, tunnel: notHere },
    servers: { sessionsToFree: notHere },
  })
  const server = createServer(async (request, response) => {
    const leaving = new AbortController()
    response.once("close", () => response.writableFinished || leaving.abort())
    const bound = operations.find(({ operation }) => operation.path === request.url)
    const headers: Record<string, string> = {}
    const call = {
      ...{ requestId: "a-request", readOnly: false, ip: "192.0.2.1", userAgent: "test", stream: request },
      header: (name: string) => request.headers[name],
      ...{ organization: { id: rig.target.organizationId }, owner: rig.target.projectId },
      principal: { ...anonymous, held: heldMask(scopes) },
      signal: leaving.signal,
      meter: () => undefined,
      setHeader: (name: string, value: string) => void Object.assign(headers, { [name]: value }),
    } as unknown as Call
    try {
      const text = (await request.toArray()).map(String).join("")
      const input = JSON.parse(text)
      for (const [alias, name] of Object.entries(areas.sql.specs.execute.aliases)) {
        if (alias in input) input[name] = input[alias]
      }
      const payload = await bound?.handler(input, call)
      response.writeHead(200, headers)
      if (payload instanceof Readable) await pipeline(payload, response).catch(() => response.destroy())
      else response.end(JSON.stringify(payload))
    } catch (error) {
      const known = isFault(error) ? error : fault("internal_error", undefined, { internal: error })
      const { status, body } = refusal(known, "", "a-request")
      response.writeHead(status).end(JSON.stringify(body))
    }
  })
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    logged,
    post: (path, body, headers = {}) =>
      fetch(url + path, { method: "POST", body: JSON.stringify(body), headers }),
  }
}
