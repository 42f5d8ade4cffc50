/** A client of the Kubernetes API that knows as much of it as drivers need: one namespace, bounded in size and time. */
import type { IncomingMessage } from "node:http"
import { createInterface } from "node:readline"
import { createHttpServer, createTokenReader, readText } from "../http-server.ts"
import { PortError } from "../port-error.ts"
import { collectionPath, type Kind, type Resource, type Resources, versionPath } from "./resources.ts"
import { openRemoteProcess, type RemoteCommand, type RemoteProcess } from "./streams.ts"

export interface ApiOptions {
  /** As `https://10.96.0.1:443`. */
  readonly apiUrl: string
  readonly namespace: string
  /** A bearer token, or the file that holds it: a pod's own is renewed in its file. */
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  /** The certificates, in PEM, that the API's own is checked against; those that Node trusts when left out. */
  readonly caFile?: string | undefined
  /** The same, in place of a file. */
  readonly ca?: string | undefined
  /** A client's own certificate and its key, in PEM, in place of a token or beside it. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** How long one request may take. */
  readonly requestTimeoutMs?: number | undefined
}

export type WatchEvent<Item extends Resource> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: Item }
  | { readonly type: "ERROR"; readonly object: { readonly code?: number } }

export interface KubernetesApi extends Disposable {
  get<K extends Kind>(kind: K, name: string): Promise<Resources[K] | undefined>
  /** All that the selector matches, and the revision at which that was so. */
  list<K extends Kind>(
    kind: K,
    selector: string,
  ): Promise<{ readonly items: readonly Resources[K][]; readonly resourceVersion: string }>
  /** Undefined when one of that name exists already. */
  create<K extends Kind>(kind: K, body: object): Promise<Resources[K] | undefined>
  /** A merge patch (RFC 7396). Undefined when there is none of that name. */
  patch<K extends Kind>(kind: K, name: string, change: object): Promise<Resources[K] | undefined>
  /** Left out, the grace is what the resource says of itself. */
  remove(kind: Kind, name: string, graceSeconds?: number): Promise<void>
  removeAll(kind: Kind, selector: string): Promise<void>
  /** Tells of every change since a revision, until the server or the signal ends it. */
  watch<K extends Kind>(
    kind: K,
    since: { readonly selector: string; readonly resourceVersion: string },
    tell: (event: WatchEvent<Resources[K]>) => void,
    signal: AbortSignal,
  ): Promise<void>
  /** Whether the cluster has resources of a kind. */
  knows(kind: Kind): Promise<boolean>
  /** Runs a program in a container of a Pod, beside what runs there. */
  exec(pod: string, command: RemoteCommand): Promise<RemoteProcess>
}

const REQUEST_TIMEOUT_MS = 15_000
/** A watch that ends soon is found out soon when the network lost it. */
const WATCH_SECONDS = 60
const WATCH_GRACE_MS = 15_000
const ANSWER_BYTES_MAX = 32 * 1024 * 1024
const PAGE_ITEMS = 250
const SOCKETS_MAX = 32
const TOKEN_AGE_MS_MAX = 60_000

interface Ask {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** The server's own words are kept, cut short: they name fields and resources, never what a Secret holds. */
const describe = (text: string): string => {
  try {
    return String(JSON.parse(text).message ?? "").slice(0, 500)
  } catch {
    return ""
  }
}

const refusal = (status: number, { method, path }: Ask, text: string): PortError => {
  const said = `Kubernetes answered ${status} to ${method} ${path}: ${describe(text)}`
  return new PortError(status === 400 || status === 422 ? "refused" : "unavailable", said)
}

const createTransport = (options: ApiOptions) => {
  const server = createHttpServer({
    url: options.apiUrl,
    caFile: options.caFile,
    ca: options.ca,
    cert: options.cert,
    key: options.key,
    socketsMax: SOCKETS_MAX,
  })
  const tokenOf = createTokenReader(options, TOKEN_AGE_MS_MAX)
  const headers = async (): Promise<Readonly<Record<string, string>>> => {
    const token = await tokenOf()
    return token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  return {
    async ask({ method, path, query, body }: Ask, signal: AbortSignal): Promise<IncomingMessage> {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json"
      return server.request({
        method,
        path,
        query,
        headers: {
          accept: "application/json",
          ...(await headers()),
          ...(body !== undefined && { "content-type": type }),
        },
        body: body && JSON.stringify(body),
        signal,
      })
    },
    /** All that another kind of connection needs to know. */
    target: async (path: string, query: URLSearchParams) => ({
      url: server.urlOf(path, query),
      headers: await headers(),
      trust: await server.trust(),
    }),
    close: () => server[Symbol.dispose](),
  }
}

export const createKubernetesApi = (options: ApiOptions): KubernetesApi => {
  const { namespace, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  if (!URL.canParse(options.apiUrl))
    throw new PortError("refused", "the address of the Kubernetes API is not a URL")
  const transport = createTransport(options)
  const closing = new AbortController()

  const outage = (what: Ask, cause: unknown): PortError => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new PortError(
      "unavailable",
      `Kubernetes did not answer ${what.method} ${what.path}: ${reason}`,
      cause,
    )
  }

  /** The answer's JSON; undefined for a status that means "it is so already". */
  const call = async (what: Ask, settled: readonly number[] = []): Promise<unknown> => {
    let status: number
    let text: string
    try {
      const answer = await transport.ask(
        what,
        AbortSignal.any([closing.signal, AbortSignal.timeout(requestTimeoutMs)]),
      )
      status = answer.statusCode ?? 0
      text = await readText(answer, ANSWER_BYTES_MAX)
    } catch (error) {
      throw outage(what, error)
    }
    if (settled.includes(status)) return undefined
    if (status < 200 || status > 299) throw refusal(status, what, text)
    try {
      return JSON.parse(text)
    } catch (error) {
      throw outage(what, error)
    }
  }

  const collection = (kind: Kind) => collectionPath(kind, namespace)
  const item = (kind: Kind, name: string) => `${collection(kind)}/${encodeURIComponent(name)}`

  return {
    async get<K extends Kind>(kind: K, name: string) {
      return (await call({ method: "GET", path: item(kind, name) }, [404])) as Resources[K] | undefined
    },

    async list<K extends Kind>(kind: K, selector: string) {
      const items: Resources[K][] = []
      let next: string | undefined
      for (;;) {
        const query = { labelSelector: selector, limit: `${PAGE_ITEMS}`, ...(next ? { continue: next } : {}) }
        const page = (await call({ method: "GET", path: collection(kind), query })) as {
          items?: Resources[K][]
          metadata: { resourceVersion?: string; continue?: string }
        }
        items.push(...(page.items ?? []))
        next = page.metadata.continue
        if (!next) return { items, resourceVersion: page.metadata.resourceVersion ?? "0" }
      }
    },

    async create<K extends Kind>(kind: K, body: object) {
      return (await call({ method: "POST", path: collection(kind), body }, [409])) as Resources[K] | undefined
    },

    async patch<K extends Kind>(kind: K, name: string, change: object) {
      const made = await call({ method: "PATCH", path: item(kind, name), body: change }, [404])
      return made as Resources[K] | undefined
    },

    async remove(kind, name, graceSeconds) {
      const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: String(graceSeconds) }
      const query = { propagationPolicy: "Background", ...grace }
      await call({ method: "DELETE", path: item(kind, name), query }, [404])
    },

    async removeAll(kind, selector) {
      const query = { labelSelector: selector, propagationPolicy: "Background" }
      // A kind that the cluster does not have has no resources either.
      await call({ method: "DELETE", path: collection(kind), query }, [404])
    },

    async watch(kind, { selector, resourceVersion }, tell, signal) {
      const query = {
        ...{ watch: "1", labelSelector: selector, resourceVersion, allowWatchBookmarks: "true" },
        timeoutSeconds: `${WATCH_SECONDS}`,
      }
      const what: Ask = { method: "GET", path: collection(kind), query }
      const limit = AbortSignal.timeout(WATCH_SECONDS * 1000 + WATCH_GRACE_MS)
      try {
        const answer = await transport.ask(what, AbortSignal.any([closing.signal, signal, limit]))
        if (answer.statusCode !== 200)
          throw refusal(answer.statusCode ?? 0, what, await readText(answer, ANSWER_BYTES_MAX))
        for await (const line of createInterface({ input: answer })) {
          if (line !== "") tell(JSON.parse(line))
        }
      } catch (error) {
        if (signal.aborted) return
        throw error instanceof PortError ? error : outage(what, error)
      }
    },

    async knows(kind) {
      const found = await call({ method: "GET", path: versionPath(kind) }, [404])
      const { resources = [] } = (found ?? {}) as { resources?: readonly { readonly name?: string }[] }
      return resources.some(({ name }) => name === kind)
    },

    async exec(pod, command) {
      const query = new URLSearchParams({ container: command.container })
      for (const word of command.argv) query.append("command", word)
      for (const stream of ["stdin", "stdout", "stderr"]) query.set(stream, "true")
      const path = `${item("pods", pod)}/exec`
      return openRemoteProcess(await transport.target(path, query), requestTimeoutMs)
    },

    [Symbol.dispose]() {
      closing.abort()
      transport.close()
    },
  }
}
