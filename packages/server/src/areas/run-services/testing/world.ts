import { once } from "node:events"
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { type Svc, SvcError } from "@svc/sdk"
import type { Ends } from "../../../testing/ends.ts"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export interface RunWorld {
  readonly platform: TestPlatform
  readonly svc: Svc
  readonly secret: string
}

export type Service = Awaited<ReturnType<Svc["run"]["get"]>>
type Input = Parameters<Svc["run"]["create"]>[0]

export const runWorld = async (t: Ends, options: PlatformOptions = {}): Promise<RunWorld> => {
  const p = await platform(t, options)
  const { secret } = await p.key("acme", everyScope)
  return { platform: p, svc: p.as(secret), secret }
}

/** A program for Node in one file. */
export const program = (code: string): Pick<Input, "files" | "command"> => ({
  files: { "server.js": code },
  command: ["node", "server.js"],
})

/** A server whose answers say who gave them, and which does what the path says. */
export const SERVER = `
const http = require("http")
const crypto = require("crypto")
let running = 0, most = 0
const self = String(process.pid) + "-" + crypto.randomUUID()
const server = http.createServer(async (request, response) => {
  running += 1
  most = Math.max(most, running)
  response.on("close", () => { running -= 1 })
  const { pathname, searchParams } = new URL(request.url, "http://x")
  if (pathname === "/exit") process.exit(3)
  if (pathname === "/wait") await new Promise(resolve => setTimeout(resolve, Number(searchParams.get("ms"))))
  if (pathname === "/silent") return
  if (pathname === "/echo") { response.writeHead(201, { "x-own": "yes" }); return request.pipe(response) }
  if (pathname === "/status") response.statusCode = Number(searchParams.get("code"))
  if (pathname === "/lines") {
    response.write("first\\n")
    return request.once("end", () => response.end("last\\n")).resume()
  }
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ self, most, method: request.method, url: request.url, headers: request.headers,
    env: process.env, cwd: process.cwd() }))
})
server.on("upgrade", (request, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n")
  socket.on("data", chunk => socket.write(chunk.toString().toUpperCase()))
})
server.listen(process.env.PORT)
`

export const started = async ({ svc }: Pick<RunWorld, "svc">, id: string): Promise<Service> =>
  eventually(
    "the newest revision is started or has failed",
    () => svc.run.get({ id }),
    ({ status }) => status !== "DEPLOYING",
  )

const agent = new Agent({ keepAlive: false, maxSockets: 1_000 })

/** One request to the URL of a service, over a connection of its own. */
export const ask = async (
  { platform: p }: { readonly platform: { readonly config: { readonly port: number } } },
  url: string | null,
  path = "/",
  { headers, ...options }: RequestOptions = {},
  body: string | Buffer = "",
) => {
  const { host } = new URL(url ?? "")
  const asked = httpRequest({
    ...{ host: "127.0.0.1", port: p.config.port, path, agent, ...options },
    headers: { host, ...headers },
  })
  asked.end(body)
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const text = Buffer.concat(await answer.toArray()).toString()
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    json: () => JSON.parse(text) as Answer,
  }
}

interface Answer {
  readonly self: string
  readonly most: number
  readonly url: string
  readonly headers: Record<string, string>
  readonly env: Record<string, string>
  readonly cwd: string
}

export const refusedAs = (code: string, status: number) => (error: unknown) =>
  error instanceof SvcError && error.code === code && error.status === status
