import { Readable } from "node:stream"
import type { Connection, Connections } from "./connections.ts"
import { acrossOrigins, headersProblem, requestHeaders, responseHeaders } from "./headers.ts"
import type { OutboundRequest } from "./outbound.ts"
import { refused, type TargetRules } from "./targets.ts"

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The URL that a redirect leads to; undefined for an answer that is none. */
const redirectOf = (status: number, location: string | undefined, from: URL): string | undefined => {
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, from.href)) throw refused("url", "The answer redirects to what is not a URL.")
  return new URL(location, from.href).href
}

export interface Exchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
  readonly address: string
  /** Must be called once; `isRead`: the body was read to its end. */
  release(isRead: boolean): void
}

type Sending = OutboundRequest & { readonly headers: Readonly<Record<string, string>> }

/** One request and the headers of its answer, without redirects. */
const exchange = async (
  connection: Connection,
  connections: Connections,
  url: URL,
  { method = "GET", body, headers }: Sending,
  signal: AbortSignal,
): Promise<Exchange> => {
  // The signal is not handed to undici, which ignores it while it connects.
  const abort = () => void connection.client.destroy(signal.reason)
  signal.addEventListener("abort", abort, { once: true })
  const release = (isRead: boolean) => {
    signal.removeEventListener("abort", abort)
    connections.give(connection, isRead)
  }
  try {
    signal.throwIfAborted()
    const path = url.pathname + url.search
    const request = { path, method, headers, body: body ?? null, responseHeaders: "raw" as const }
    const answer = await connection.client.request(request)
    return {
      status: answer.statusCode,
      headers: responseHeaders(answer.headers as unknown as readonly string[]),
      body: answer.body,
      address: connection.address(),
      release,
    }
  } catch (error) {
    release(false)
    throw signal.aborted ? signal.reason : error
  }
}

const CLOSED: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"])

/**
 * The same on whichever connection is free. One that idled may have been closed by the receiver in the moment it was
 * taken, which says nothing about the receiver.
 */
const exchangeAnywhere = async (
  connections: Connections,
  url: URL,
  request: Sending,
  signal: AbortSignal,
): Promise<Exchange> => {
  const { method = "GET", idempotent = method === "GET" || method === "HEAD", body } = request
  const isRepeatable = idempotent && !(body instanceof Readable)
  for (;;) {
    const connection = await connections.take(url.origin, signal)
    const { isUsed } = connection
    try {
      return await exchange(connection, connections, url, request, signal)
    } catch (error) {
      if (!(isUsed && isRepeatable && CLOSED.has((error as NodeJS.ErrnoException).code))) throw error
    }
  }
}

/** A request and, if the caller asked for it, those that its redirects lead to. */
export const follow = async (
  connections: Connections,
  rules: TargetRules,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<{ readonly url: URL; readonly answer: Exchange }> => {
  const { method = "GET", redirectsMax = 0, decompress = false } = request
  let url = rules.read(request.url)
  const problem = headersProblem(request.headers ?? {})
  if (problem !== undefined) throw refused("headers", problem)
  let headers = requestHeaders(request.headers ?? {}, decompress)
  for (let redirects = 0; ; redirects++) {
    const answer = await exchangeAnywhere(connections, url, { ...request, headers }, signal)
    if (redirectsMax === 0 || (method !== "GET" && method !== "HEAD")) return { url, answer }
    const next = redirectOf(answer.status, answer.headers.location, url)
    if (next === undefined) return { url, answer }
    answer.body.on("error", () => undefined).destroy()
    answer.release(false)
    if (redirects === redirectsMax)
      throw refused("redirects", `The URL redirects more than ${redirectsMax} times.`)
    const target = rules.read(next)
    if (target.origin !== url.origin) headers = acrossOrigins(headers)
    url = target
  }
}
