import { once } from "node:events"
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { connect } from "node:net"
import type { TestContext } from "node:test"
import { type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export const LB_SCOPES = ["lb:read", "lb:write"] as const

/** Backends of tests are on this machine. */
const ALLOW = { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" }

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly text: string
}

export type Ask = (
  url: string,
  options?: RequestOptions & { readonly body?: string | Buffer },
) => Promise<Answer>

/** Asks a process of the platform for a URL whose name it answers for. */
export const askAt =
  (port: number, agent?: Agent): Ask =>
  async (url, { body, headers, ...options } = {}) => {
    const { host, pathname, search } = new URL(url)
    const asked = httpRequest({
      ...{ host: "127.0.0.1", port, path: `${pathname}${search}`, agent: agent ?? false, ...options },
      headers: { host, ...headers },
    })
    asked.end(body)
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    const chunks: Buffer[] = await answer.toArray()
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }
  }

export const worldOf = async (t: TestContext, { env, ...options }: PlatformOptions = {}) => {
  const p: TestPlatform = await platform(t, { env: { ...ALLOW, ...env }, ...options })
  const svc = await p.client("acme", ...LB_SCOPES)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  t.after(() => agent.destroy())
  return { p, svc, ask: askAt(p.config.port, agent) }
}

/** What a server answers to these very bytes, until it ends the connection. */
export const sendRaw = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => undefined)
  socket.write(bytes)
  const chunks: Buffer[] = []
  socket.on("data", chunk => chunks.push(chunk))
  await once(socket, "close")
  return Buffer.concat(chunks).toString("latin1")
}
