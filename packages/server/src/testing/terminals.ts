/** Clients of terminals that see what is on the wire. */
import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { type ClientOptions, WebSocket } from "ws"
import type { Ends } from "./ends.ts"
import { noteReply } from "./watch.ts"

export interface Refused {
  readonly status: number
  readonly code: string
  readonly headers: IncomingMessage["headers"]
}

export interface TerminalOptions extends ClientOptions {
  readonly secret?: string
  readonly protocols?: readonly string[]
}

export interface Closed {
  readonly code: number
  readonly reason: string
}

export interface TestTerminal {
  readonly socket: WebSocket
  /** The headers of the answer. */
  readonly headers: IncomingMessage["headers"]
  readonly closed: Promise<Closed>
  /** Text messages, parsed. */
  readonly said: readonly unknown[]
  /** All bytes that came. */
  bytes(): Buffer
  type(text: string): void
  say(message: unknown): void
  /** Waits until the output has it. */
  until(text: string | RegExp): Promise<void>
}

/** Of a terminal from which nothing comes: much of it may take long. */
const PATIENCE_MS = 60_000

const createPatience = () => {
  const timers = new Set<NodeJS.Timeout>()
  return {
    renew() {
      for (const timer of timers) timer.refresh()
    },
    async within<Value>(what: () => string, value: Promise<Value>): Promise<Value> {
      const { promise, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(new Error(`never came: ${what()}`)), PATIENCE_MS)
      timers.add(timer)
      try {
        return await Promise.race([value, promise])
      } finally {
        timers.delete(timer)
        clearTimeout(timer)
      }
    },
  }
}

const refusalOf = async (response: IncomingMessage): Promise<Refused> => {
  const { statusCode = 0, headers } = response
  assert.match(headers["content-type"] ?? "", /^application\/json/)
  const { code } = JSON.parse(Buffer.concat(await response.toArray()).toString()) as { code: string }
  return { status: statusCode, code, headers }
}

const follow = (socket: WebSocket, headers: IncomingMessage["headers"]): TestTerminal => {
  const chunks: Buffer[] = []
  const said: unknown[] = []
  let look = () => {}
  const { renew, within } = createPatience()
  socket.on("message", (data, isBinary) => {
    renew()
    if (isBinary) chunks.push(data as Buffer)
    else said.push(JSON.parse(String(data)))
    look()
  })
  const closed = new Promise<Closed>(resolve =>
    socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  const bytes = () => Buffer.concat(chunks)
  return {
    ...{ socket, headers, said, bytes },
    get closed() {
      return within(() => `the end; there is ${JSON.stringify(bytes().toString().slice(-200))}`, closed)
    },
    type: text => socket.send(Buffer.from(text)),
    say: message => socket.send(JSON.stringify(message)),
    until(text) {
      const { promise, resolve } = Promise.withResolvers<void>()
      look = () => {
        const output = bytes().toString()
        if (typeof text === "string" ? output.includes(text) : text.test(output)) resolve()
      }
      look()
      return within(() => `${text} in ${JSON.stringify(bytes().toString())}`, promise)
    },
  }
}

/** What a client gets that asks for a terminal: that, or the refusal. */
export const tryTerminal = async (
  t: Ends,
  url: string,
  path: string,
  { secret, protocols = ["svc.terminal.v1"], headers, ...options }: TerminalOptions = {},
): Promise<TestTerminal | Refused> => {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, [...protocols], {
    perMessageDeflate: false,
    ...options,
    headers: { ...(secret !== undefined && { authorization: `Bearer ${secret}` }), ...headers },
  })
  t.after(() => socket.terminate())
  const { promise, resolve, reject } = Promise.withResolvers<TestTerminal | Promise<Refused>>()
  socket.on("error", reject)
  // Before it is open: bytes may come with the answer.
  socket.once("upgrade", ({ headers }) => {
    noteReply("GET", `${url}${path}`, 101, null)
    const terminal = follow(socket, headers)
    socket.once("open", () => resolve(terminal))
  })
  socket.once("unexpected-response", (_request, response) => {
    noteReply("GET", `${url}${path}`, response.statusCode ?? 0, null)
    resolve(refusalOf(response))
  })
  return await promise
}

export const openTerminal = async (...parameters: Parameters<typeof tryTerminal>): Promise<TestTerminal> => {
  const opened = await tryTerminal(...parameters)
  if ("code" in opened) assert.fail(`it was refused: ${opened.status} ${opened.code}`)
  return opened
}

export const refusedTerminal = async (
  ...parameters: Parameters<typeof tryTerminal>
): Promise<readonly [status: number, code: string]> => {
  const refused = await tryTerminal(...parameters)
  assert.ok("code" in refused, "it was let in")
  assert.equal(refused.headers.connection, "close")
  assert.ok(refused.headers["x-request-id"])
  return [refused.status, refused.code]
}
