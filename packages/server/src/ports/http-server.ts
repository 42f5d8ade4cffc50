/** Requests to one server that the operator names, such as Kubernetes or Vault: its own trust, connections that stay. */
import { readFile } from "node:fs/promises"
import { Agent as HttpAgent, type IncomingMessage, request as requestPlain } from "node:http"
import { request as requestTls, Agent as TlsAgent } from "node:https"

export interface HttpServerOptions {
  /** As `https://10.96.0.1:443`; paths of requests go below its own. */
  readonly url: string
  /** The certificates, in PEM, that the server's own is checked against; those that Node trusts when left out. */
  readonly caFile?: string | undefined
  /** The same, in place of a file. */
  readonly ca?: string | undefined
  /** A client's own certificate and its key, in PEM. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly socketsMax: number
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  readonly path: string
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
}

export interface HttpServer extends Disposable {
  urlOf(path: string, query?: URLSearchParams): URL
  /** The options of a TLS connection; none over plain HTTP. */
  trust(): Promise<{ readonly ca?: string; readonly cert?: string; readonly key?: string }>
  /** Resolves with the head of the response, whatever its status. Rejects when there is none. */
  request(request: HttpRequest): Promise<IncomingMessage>
}

export const createHttpServer = (options: HttpServerOptions): HttpServer => {
  const base = new URL(options.url)
  const isSecure = base.protocol === "https:"
  const settings = { keepAlive: true, maxSockets: options.socketsMax }
  let agent: HttpAgent | undefined

  const trust: HttpServer["trust"] = async () => {
    if (!isSecure) return {}
    const ca = options.caFile === undefined ? options.ca : await readFile(options.caFile, "utf8")
    const { cert, key } = options
    return {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    }
  }
  const openAgent = async (): Promise<HttpAgent> =>
    isSecure ? new TlsAgent({ ...settings, ...(await trust()) }) : new HttpAgent(settings)

  const urlOf = (path: string, query?: URLSearchParams): URL => {
    const url = new URL(base.pathname.replace(/\/$/, "") + path, base)
    url.search = String(query ?? "")
    return url
  }

  return {
    urlOf,
    trust,
    async request({ method, path, query, headers, body, signal }) {
      agent ??= await openAgent()
      const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) }
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      const sent = (isSecure ? requestTls : requestPlain)(
        urlOf(path, new URLSearchParams(query)),
        { method, agent, signal, headers: { ...headers, ...length } },
        resolve,
      )
      sent.on("error", reject)
      sent.end(body)
      return promise
    },
    [Symbol.dispose]: () => agent?.destroy(),
  }
}

export const readText = async (response: IncomingMessage, bytesMax: number): Promise<string> => {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > bytesMax) throw new Error("the answer is too large")
    parts.push(part)
  }
  return Buffer.concat(parts).toString("utf8")
}

/** A token, or the one in a file, which is read again after `ageMsMax`: who renews it writes it there. */
export const createTokenReader = (
  { token, tokenFile }: { readonly token?: string | undefined; readonly tokenFile?: string | undefined },
  ageMsMax: number,
) => {
  let known = { value: "", readAt: Number.NEGATIVE_INFINITY }
  return async (): Promise<string | undefined> => {
    if (tokenFile === undefined) return token
    if (performance.now() - known.readAt >= ageMsMax)
      known = { value: (await readFile(tokenFile, "utf8")).trim(), readAt: performance.now() }
    return known.value
  }
}
