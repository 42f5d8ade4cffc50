/** Requests that another process of the platform can serve and this one cannot: they go on to it as they came. */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import { Agent, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http"
import { request as requestHttps, Agent as SecureAgent } from "node:https"
import { isIP, type Socket } from "node:net"
import { type Duplex, pipeline } from "node:stream"
import type { Clock } from "../clock.ts"
import { CONNECTION_HEADERS } from "../connection-headers.ts"
import type { Logger } from "../log.ts"
import { hasBody } from "./body.ts"
import { type ReplyHeaders, sendStream } from "./reply.ts"
import { openTunnel } from "./tunnel.ts"

export interface Relay extends Disposable {
  /** Who sent it first, where a process of the platform sent it on; undefined for all other requests. */
  callerOf(request: IncomingMessage): string | undefined
  /**
   * Sends it to the first that takes it, and answers what that answers. False when none did; nothing is answered then.
   * Who says that he cannot either (501, 503) is passed over where there is a next.
   */
  pass(passed: Passed): Promise<boolean>
}

export interface Passed {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Told to who answers. */
  readonly requestId?: string
  /** The caller's. */
  readonly address: string
  /** The whole body; undefined if none of it was read yet. */
  readonly body: Buffer | undefined
  /** The body as a stream, if none of it was read yet. */
  readonly stream: () => IncomingMessage
  readonly to: readonly URL[]
  /** Of a request that would go on as a WebSocket. */
  readonly upgrade?: Upgrade
}

export interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
}

/** Proves that a process of the platform has sent a request on: `<ms> <address> <proof>`. */
const HEADER = "x-svc-relayed"
/** For clocks that differ. */
const PROOF_MS_MAX = 60_000
const CONNECT_MS_MAX = 2_000
/** Less than the other end waits for a next request, or one could be sent to a connection that just ends. */
const KEPT_MS = 30_000

/** What is said anew, or not at all. */
const OWN: ReadonlySet<string> = new Set([...CONNECTION_HEADERS, HEADER])

const headersOf = (headers: IncomingMessage["headers"]): ReplyHeaders =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      OWN.has(name) || value === undefined ? [] : [[name, value]],
    ),
  )

const createProofs = (masterKey: Buffer, clock: Clock) => {
  const key = Buffer.from(hkdfSync("sha256", masterKey, "svc:relay", "requests", 32))
  const proofOf = (atMs: string, address: string, { method, url }: IncomingMessage) =>
    createHmac("sha256", key).update(`${atMs} ${address} ${method} ${url}`).digest()
  return {
    of(request: IncomingMessage, address: string): string {
      const atMs = String(clock.now())
      return `${atMs} ${address} ${proofOf(atMs, address, request).toString("hex")}`
    },
    /** The address that it tells; undefined when it is none of ours. */
    read(request: IncomingMessage): string | undefined {
      const told = request.headers[HEADER]
      if (typeof told !== "string") return undefined
      const [atMs = "", address = "", hex = ""] = told.split(" ")
      const proof = Buffer.from(hex, "hex")
      const expected = proofOf(atMs, address, request)
      const isTrue = proof.length === expected.length && timingSafeEqual(proof, expected)
      const isFresh = Math.abs(clock.now() - Number(atMs)) <= PROOF_MS_MAX
      return isTrue && isFresh && isIP(address) !== 0 ? address : undefined
    },
  }
}

/** The peer did not receive the request, so another may be tried. */
class UnreachedError extends Error {
  override readonly name = "UnreachedError"
}

interface PeerResponse {
  readonly answer: IncomingMessage
  /** What it goes on by, where that was agreed to. */
  readonly further?: { readonly connection: Duplex; readonly first: Buffer }
}

interface Peer {
  readonly url: URL
  readonly proof: string
  readonly agent: Agent
}

const requestTo = ({ request, requestId, body, upgrade }: Passed, { url, proof, agent }: Peer) => {
  const send = url.protocol === "https:" ? requestHttps : requestHttp
  const isChunked = body === undefined && hasBody(request) && request.headers["content-length"] === undefined
  return send({
    ...{ protocol: url.protocol, hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: url.port },
    // As it came: read as a URL it could name another host.
    ...{ method: request.method, path: request.url, agent, setHost: false },
    headers: {
      ...headersOf(request.headers),
      ...(body && { "content-length": String(body.length) }),
      ...(isChunked && { "transfer-encoding": "chunked" }),
      ...(upgrade && { connection: "Upgrade", upgrade: "websocket" }),
      ...(requestId !== undefined && { "x-request-id": requestId }),
      [HEADER]: proof,
    },
  })
}

/** Rejects with an `UnreachedError` where nothing was sent, otherwise with what broke. */
const ask = (given: Passed, peer: Peer): Promise<PeerResponse> => {
  const { request, response, body, stream } = given
  const { promise, resolve, reject } = Promise.withResolvers<PeerResponse>()
  const passed = requestTo(given, peer)
  let isConnected = false
  passed.on("response", answer => resolve({ answer }))
  passed.on("upgrade", (answer, connection, first) => resolve({ answer, further: { connection, first } }))
  passed.on("error", error => reject(isConnected ? error : new UnreachedError(error.message)))
  const giveUp = () => void (isConnected || passed.destroy(new Error("it does not answer")))
  // Who was kept from looking for so long looks first.
  const timer = setTimeout(() => setImmediate(giveUp), CONNECT_MS_MAX)
  passed.on("socket", socket => {
    const connected = () => {
      isConnected = true
      clearTimeout(timer)
    }
    if (socket.connecting) socket.once("connect", connected)
    else connected()
  })
  passed.once("close", () => clearTimeout(timer))
  // Who hangs up here hangs up there.
  response.once("close", () => response.writableFinished || passed.destroy())
  if (body !== undefined || !hasBody(request)) passed.end(body)
  else pipeline(stream(), passed, error => error && passed.destroy(error))
  return promise
}

/** Both ways, until either ends or the platform stops. */
const goFurther = (
  { response, upgrade }: Passed,
  { answer, further }: PeerResponse,
  stopping: AbortSignal,
): void => {
  if (!upgrade || !further) throw new Error("nobody asked to go on")
  const { socket, head } = upgrade
  const { connection, first } = further
  response.detachSocket(socket)
  const end = () => {
    socket.destroy()
    connection.destroy()
  }
  for (const side of [socket, connection]) side.on("error", end).once("close", end)
  stopping.addEventListener("abort", end)
  socket.once("close", () => stopping.removeEventListener("abort", end))
  if (stopping.aborted || socket.destroyed) end()
  const headers = Object.entries(headersOf(answer.headers)).flatMap(([name, value]) =>
    [value].flat().flatMap(one => [name, one]),
  )
  openTunnel({ socket, connection, headers, first, head })
}

const cannot = ({ statusCode }: IncomingMessage): boolean => statusCode === 501 || statusCode === 503

export const createRelay = (needs: {
  readonly masterKey: Buffer
  readonly clock: Clock
  readonly log: Logger
  /** Ends what goes on as a WebSocket. */
  readonly stopping: AbortSignal
}): Relay => {
  const proofs = createProofs(needs.masterKey, needs.clock)
  const options = { keepAlive: true, timeout: KEPT_MS, scheduling: "lifo" as const }
  const [agent, secureAgent] = [new Agent(options), new SecureAgent(options)]

  const write = async (passed: Passed, answered: PeerResponse): Promise<void> => {
    const { answer, further } = answered
    if (further) return goFurther(passed, answered, needs.stopping)
    const headers = headersOf(answer.headers)
    await sendStream(passed.request, passed.response, answer.statusCode ?? 502, answer, headers)
  }

  return {
    callerOf: proofs.read,
    async pass(passed) {
      const { request, address, to } = passed
      for (const [at, url] of to.entries()) {
        const proof = proofs.of(request, address)
        const peer = { url, proof, agent: url.protocol === "https:" ? secureAgent : agent }
        try {
          const answered = await ask(passed, peer)
          if (!cannot(answered.answer) || at === to.length - 1) {
            await write(passed, answered)
            return true
          }
          answered.answer.resume()
        } catch (error) {
          needs.log.warn({ err: error, peer: url.origin }, "forwarding a request to a peer failed")
          // The outcome is unknown, or part of the body was sent already.
          const isWhole = passed.body !== undefined || !hasBody(request)
          if (!(error instanceof UnreachedError && isWhole)) return false
        }
      }
      return false
    },
    [Symbol.dispose]() {
      agent.destroy()
      secureAgent.destroy()
    },
  }
}
