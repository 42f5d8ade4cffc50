/** Passes a request on to one of several servers, and to another where the first fails before anything of an answer is sent. */
import { type ClientRequest, type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { requestHeaders, responseHeaders } from "../../kernel/edges/forwarded-headers.ts"
import { openTunnel } from "../../kernel/edges/tunnel.ts"
import { type Refusal, refuse } from "./refusal.ts"
import { hasBody } from "./request-guard.ts"
import { ConnectError, type Upstream } from "./upstream.ts"

/** A server that was chosen for a request. */
export interface Picked {
  readonly id: string
  readonly upstream: Upstream
  /** Headers that are added to its answer. */
  readonly headers?: readonly string[]
}

export interface Forwarding {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path and query in origin form. */
  readonly target: string
  /** The client's. */
  readonly address: string
  readonly scheme: string
  readonly requestId: string
  /** The first bytes of the body where they were read; whole, if `isWhole`. */
  readonly body?: ReadBody | undefined
  /** Of a request that would go on as a WebSocket. */
  readonly upgrade?: { readonly socket: Socket; readonly head: Buffer }
  /** How long nothing may move, in milliseconds. */
  readonly idleMs: number
  /** What goes on as a WebSocket ends as this aborts. */
  readonly stopping: AbortSignal
  now(): number
  /** A server that was not tried yet, or why there is none. */
  pick(tried: ReadonlySet<string>): Picked | Refusal
  /** Whether one more try may be made, which counts it. */
  mayRetry(): boolean
}

export interface ReadBody {
  readonly bytes: Buffer
  readonly isWhole: boolean
}

/** How it went, for the log. */
export interface Forwarded {
  readonly status: number
  readonly picked?: string
  readonly attempts: number
  readonly error?: string
}

const ATTEMPTS_MAX = 4
const LOOPS_MAX = 4
const PSEUDONYM = "svc-lb"
/** RFC 9110, 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
const DROPPED: ReadonlySet<string> = new Set(["via", "x-request-id"])
/** Answers by which a server says that it cannot answer. */
const FAILED_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])
/** The client hung up; it is logged as nginx does. */
const HUNG_UP = 499

type Attempt =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "upgraded" }
  | { readonly kind: "hung-up" }
  | {
      readonly kind: "failed"
      readonly error: Error
      /** Whether the server may have begun to act on it. */
      readonly isSent: boolean
      readonly isStale: boolean
      readonly isLate: boolean
    }

class IdleError extends Error {
  override readonly name = "IdleError"
}

const forwardedFor = (address: string): string => (address.includes(":") ? `"[${address}]"` : address)

const headersOf = ({ request, address, scheme, requestId, upgrade, body }: Forwarding): string[] => {
  const { host = "", via = "" } = request.headers
  const isChunked = request.headers["transfer-encoding"] !== undefined && body?.isWhole !== true
  return [
    ...requestHeaders(request.rawHeaders, { address, scheme, host, dropped: DROPPED }),
    ...["Forwarded", `for=${forwardedFor(address)};host="${host}";proto=${scheme}`],
    ...["Via", `${via === "" ? "" : `${via}, `}1.1 ${PSEUDONYM}`, "X-Request-Id", requestId],
    ...(isChunked ? ["Transfer-Encoding", "chunked"] : []),
    ...(upgrade ? ["Connection", "Upgrade", "Upgrade", "websocket"] : []),
  ]
}

const isLoop = ({ headers: { via = "" } }: IncomingMessage): boolean =>
  via.split(PSEUDONYM).length > LOOPS_MAX

/** A body that was read whole and had no length is told its length. */
const lengthOf = ({ request, body }: Forwarding): string[] =>
  body?.isWhole && request.headers["transfer-encoding"] !== undefined
    ? ["Content-Length", String(body.bytes.length)]
    : []

const sendBody = (forwarding: Forwarding, passed: ClientRequest): void => {
  const { request, body, response } = forwarding
  if (body?.isWhole) return void passed.end(body.bytes)
  if (!hasBody(request)) return void passed.end()
  // Nothing of it is read before there is a connection: until then another server can still get all of it.
  passed.once("socket", () => {
    if (body) passed.write(body.bytes)
    else if (request.headers.expect !== undefined) response.writeContinue()
    request.on("error", error => passed.destroy(error)).pipe(passed)
    // What still arrives after a failure goes nowhere, so that the refusal can be sent.
    passed.once("close", () => request.unpipe(passed))
  })
}

const writeAnswer = (
  answer: IncomingMessage,
  { response }: Forwarding,
  { upstream, headers = [] }: Picked,
  now: () => number,
): void => {
  answer.on("error", () => {
    if (response.writableFinished || response.destroyed) return
    upstream.countFailure()
    upstream.circuit.failed(now())
    response.destroy()
  })
  const { statusCode = 502, statusMessage, rawHeaders } = answer
  response.writeHead(statusCode, statusMessage, [...responseHeaders(rawHeaders), ...headers])
  answer.pipe(response)
}

/** Both ways, until either ends, nothing moves for too long, or the platform stops. */
const goOn = (
  { upgrade, response, stopping, idleMs }: Forwarding,
  answer: IncomingMessage,
  connection: Duplex,
  first: Buffer,
  over: () => void,
): void => {
  if (!upgrade) return void connection.destroy()
  const { socket, head } = upgrade
  response.detachSocket(socket)
  const end = () => {
    socket.destroy()
    connection.destroy()
  }
  for (const side of [socket, connection as Socket]) {
    side.setTimeout(idleMs, end)
    side.on("error", end).once("close", end)
  }
  stopping.addEventListener("abort", end)
  connection.once("close", () => {
    stopping.removeEventListener("abort", end)
    over()
  })
  if (stopping.aborted || socket.destroyed) end()
  openTunnel({ socket, connection, headers: responseHeaders(answer.rawHeaders), first, head })
}

const attempt = (forwarding: Forwarding, picked: Picked, headers: string[]): Promise<Attempt> => {
  const { request, response, target, idleMs, upgrade, now } = forwarding
  const { upstream } = picked
  const { promise, resolve } = Promise.withResolvers<Attempt>()
  const use = upstream.use()
  const over = () => use[Symbol.dispose]()
  const passed = upstream.request({ method: request.method ?? "GET", path: target, headers })
  let isSent = false
  const hangUp = () => void (response.writableFinished || passed.destroy())
  response.once("close", hangUp)
  passed.once("socket", () => {
    isSent = true
  })
  passed.setTimeout(idleMs, () => passed.destroy(new IdleError("nothing moved for too long")))
  passed.once("close", () => {
    // After an agreement to go on, the connection ends it.
    if (!isTunnel) over()
    response.removeListener("close", hangUp)
    resolve({ kind: "hung-up" })
  })
  let isTunnel = false
  passed.once("response", answer => {
    const { statusCode = 502 } = answer
    try {
      writeAnswer(answer, forwarding, picked, now)
      resolve({ kind: "answered", status: statusCode })
    } catch (error) {
      // A status or a header that is none.
      answer.destroy()
      resolve({ kind: "failed", error: error as Error, isSent: true, isStale: false, isLate: false })
    }
  })
  passed.once("upgrade", (answer, connection, first) => {
    isTunnel = upgrade !== undefined
    goOn(forwarding, answer, connection, first, over)
    if (upgrade) return resolve({ kind: "upgraded" })
    const error = new Error("it goes on in a protocol that was not asked for")
    resolve({ kind: "failed", error, isSent: true, isStale: false, isLate: false })
  })
  passed.on("error", error => {
    if (response.destroyed || response.writableFinished) return resolve({ kind: "hung-up" })
    const isStale = passed.reusedSocket && !(error instanceof IdleError)
    resolve({
      ...{ kind: "failed", error, isStale, isLate: error instanceof IdleError },
      isSent: isSent && !(error instanceof ConnectError),
    })
  })
  sendBody(forwarding, passed)
  return promise
}

/** Whether the same request may be sent once more, wherever to. */
const isRepeatable = (
  { request, body, upgrade }: Forwarding,
  { isSent, isLate }: Attempt & { kind: "failed" },
): boolean => {
  const isKept = body?.isWhole === true || !hasBody(request)
  // Nothing was sent: a body that is not kept was not begun either, but for what was read ahead.
  if (!isSent) return true
  return isKept && !isLate && upgrade === undefined && IDEMPOTENT.has(request.method ?? "")
}

const BROKEN: Refusal = { status: 502, text: "The server behind this address did not answer the request." }
const LATE: Refusal = { status: 504, text: "The server behind this address did not answer in time." }
const LOOP: Refusal = { status: 508, text: "The request goes round in a circle." }

/** Answers the request, whatever happens, and says how. */
export const forward = async (forwarding: Forwarding): Promise<Forwarded> => {
  const { request, response, now } = forwarding
  const refused = (refusal: Refusal, more: Omit<Forwarded, "status">): Forwarded => {
    refuse(response, refusal)
    return { status: refusal.status, ...more }
  }
  if (isLoop(request)) return refused(LOOP, { attempts: 0 })
  const headers = [...headersOf(forwarding), ...lengthOf(forwarding)]
  const tried = new Set<string>()
  let last: Omit<Forwarded, "status"> | undefined
  for (let attempts = 1; ; attempts++) {
    const picked = forwarding.pick(tried)
    // With none left, the failure of the last one is the answer.
    if ("status" in picked) return last ? refused(BROKEN, last) : refused(picked, { attempts: 0 })
    const { upstream, id } = picked
    const outcome = await attempt(forwarding, picked, headers)
    const log = { picked: id, attempts }
    if (outcome.kind === "hung-up") return { status: HUNG_UP, ...log }
    if (outcome.kind === "upgraded") {
      upstream.circuit.succeeded()
      return { status: 101, ...log }
    }
    if (outcome.kind === "answered") {
      if (FAILED_STATUSES.has(outcome.status)) upstream.circuit.failed(now())
      else upstream.circuit.succeeded()
      return { status: outcome.status, ...log }
    }
    // A kept connection that had ended meanwhile says nothing of the server.
    if (!outcome.isStale) {
      upstream.countFailure()
      upstream.circuit.failed(now())
      tried.add(id)
    }
    last = { ...log, error: outcome.error.message }
    if (attempts < ATTEMPTS_MAX && isRepeatable(forwarding, outcome) && forwarding.mayRetry()) continue
    return refused(outcome.isLate ? LATE : BROKEN, last)
  }
}

/** A response for a request that arrives as a socket. */
export const responseOn = (request: IncomingMessage, socket: Socket): ServerResponse => {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once("finish", () => socket.end())
  return response
}
