/**
 * As much of the Kubernetes API as drivers need, in memory: resources, selectors, merge patches, pages, watches, discovery,
 * and programs run in Pods, whose nodes are the tests'.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { type WebSocket, WebSocketServer } from "ws"
import { apiVersions, collectionPath, type Kind, versionPath } from "../resources.ts"

// biome-ignore lint/suspicious/noExplicitAny: whatever was written is kept as it is.
export type Stored = any

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly kind: Kind
  readonly object: Stored
  readonly revision: number
}

export interface FakeKubernetes extends AsyncDisposable {
  readonly url: string
  readonly token: string
  readonly namespace: string
  /** Every request so far, as `PATCH clusters/svc-1`. */
  readonly requests: readonly string[]
  get(kind: Kind, name: string): Stored | undefined
  list(kind: Kind): readonly Stored[]
  /** Adds or changes a resource as a controller does: the status too. */
  put(kind: Kind, name: string, change: object): Stored
  remove(kind: Kind, name: string): void
  listen(listener: (change: Change) => void): void
  /** Answers every request by 503 from now on, or no longer; ends all watches. */
  setDown(down: boolean): void
  /** Ends all watches, and forgets what those who come back would have missed. */
  compact(): void
  /** Says who runs programs in Pods. */
  serveExec(serve: ServeExec): void
  /** Breaks the connections to all programs in Pods, as a network does. */
  cutStreams(): void
}

/** `socket` speaks v5.channel.k8s.io. */
export type ServeExec = (
  asked: { readonly pod: string; readonly container: string; readonly argv: readonly string[] },
  socket: WebSocket,
) => void

export interface FakeOptions {
  /** Those that this cluster does not have. */
  readonly lacks?: readonly Kind[]
  /** What becomes of what is created: fields that this server does not know go. */
  readonly admit?: (kind: Kind, object: Stored) => Stored
  /** Pods have a node, which takes them away itself once they have ended. */
  readonly hasNodes?: boolean
}

const merged = (target: Stored, change: Stored): Stored => {
  if (change === null || typeof change !== "object" || Array.isArray(change)) return change
  const result = target !== null && typeof target === "object" && !Array.isArray(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

const matches = (object: Stored, selector: string | null): boolean =>
  (selector ?? "").split(",").every(part => {
    const [key = "", value] = part.split("=")
    const label = object.metadata.labels?.[key]
    return part === "" || (value === undefined ? label !== undefined : label === value)
  })

const createResources = () => {
  const stored = new Map<string, Stored>()
  const changes: Change[] = []
  const listeners = new Set<(change: Change) => void>()
  let revision = 1

  const tell = (type: Change["type"], kind: Kind, object: Stored) => {
    const change = { type, kind, object, revision }
    changes.push(change)
    for (const listener of [...listeners]) listener(change)
  }
  const write = (type: Change["type"], kind: Kind, object: Stored): Stored => {
    revision += 1
    const whole = { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } }
    if (type === "DELETED") stored.delete(`${kind}/${object.metadata.name}`)
    else stored.set(`${kind}/${object.metadata.name}`, whole)
    tell(type, kind, whole)
    return whole
  }
  const get = (kind: Kind, name: string) => stored.get(`${kind}/${name}`)

  return {
    changes,
    listeners,
    revision: () => revision,
    get,
    list: (kind: Kind) =>
      [...stored].filter(([key]) => key.startsWith(`${kind}/`)).map(([, object]) => object),
    add(kind: Kind, object: Stored) {
      const creationTimestamp = new Date().toISOString()
      const metadata = { ...object.metadata, uid: randomUUID(), creationTimestamp }
      return write("ADDED", kind, { ...object, metadata })
    },
    change(kind: Kind, name: string, change: object) {
      const before = get(kind, name)
      const after = merged(before, change)
      // A change that changes nothing makes no revision.
      return JSON.stringify(after) === JSON.stringify(before) ? before : write("MODIFIED", kind, after)
    },
    remove(kind: Kind, name: string) {
      const object = get(kind, name)
      if (object) write("DELETED", kind, object)
    },
  }
}

type ResourceStore = ReturnType<typeof createResources>

interface Asked {
  readonly kind: Kind
  readonly name: string | undefined
  readonly query: URLSearchParams
}

const kinds = Object.keys(apiVersions) as readonly Kind[]

const parse = (request: IncomingMessage, namespace: string): Asked | undefined => {
  const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://fake")
  for (const kind of kinds) {
    const path = collectionPath(kind, namespace)
    if (pathname === path) return { kind, name: undefined, query }
    if (pathname.startsWith(`${path}/`) && !pathname.includes("/", path.length + 1))
      return { kind, name: pathname.slice(path.length + 1), query }
  }
  return undefined
}

const respond = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const refuse = (response: ServerResponse, status: number) =>
  respond(response, status, {
    kind: "Status",
    status: "Failure",
    code: status,
    message: `refused by ${status}`,
  })

const answerList = (store: ResourceStore, { kind, query }: Asked, response: ServerResponse) => {
  const all = store.list(kind).filter(object => matches(object, query.get("labelSelector")))
  const from = Number(query.get("continue") ?? 0)
  const to = from + Number(query.get("limit") ?? all.length)
  const rest = to < all.length ? { continue: `${to}` } : {}
  respond(response, 200, {
    items: all.slice(from, to),
    metadata: { resourceVersion: `${store.revision()}`, ...rest },
  })
}

/** Pods on nodes end first, and what has finalizers is seen to by their owners: then they are gone. */
const createRemoval =
  (store: ResourceStore, hasNodes: boolean) => (kind: Kind, name: string, query: URLSearchParams) => {
    const object = store.get(kind, name)
    const grace = Number(query.get("gracePeriodSeconds") ?? object.spec?.terminationGracePeriodSeconds ?? 30)
    const isHeld = (kind === "pods" && hasNodes && grace > 0) || object.metadata.finalizers?.length > 0
    if (!isHeld) return store.remove(kind, name)
    if (object.metadata.deletionTimestamp !== undefined) return
    const deletionTimestamp = new Date().toISOString()
    store.change(kind, name, { metadata: { deletionTimestamp, deletionGracePeriodSeconds: grace } })
  }

const answerOther = async (
  store: ResourceStore,
  { admit = (_kind, object) => object, hasNodes = false }: FakeOptions,
  asked: Asked,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  const { kind, name, query } = asked
  const remove = createRemoval(store, hasNodes)
  const selected = () => store.list(kind).filter(object => matches(object, query.get("labelSelector")))
  if (request.method === "POST") {
    const body = admit(kind, JSON.parse(await text(request)))
    if (body.apiVersion !== apiVersions[kind] || !/^[a-z0-9.-]{1,253}$/.test(body.metadata?.name ?? ""))
      return refuse(response, 422)
    if (store.get(kind, body.metadata.name)) return refuse(response, 409)
    return respond(response, 201, store.add(kind, body))
  }
  if (request.method === "DELETE" && name === undefined) {
    for (const { metadata } of selected()) remove(kind, metadata.name, query)
    return respond(response, 200, {})
  }
  if (name === undefined || !store.get(kind, name)) return refuse(response, 404)
  if (request.method === "GET") return respond(response, 200, store.get(kind, name))
  if (request.method === "DELETE") {
    remove(kind, name, query)
    return respond(response, 200, {})
  }
  if (request.headers["content-type"] !== "application/merge-patch+json") return refuse(response, 415)
  respond(response, 200, store.change(kind, name, JSON.parse(await text(request))))
}

/** What a version has, as discovery tells. */
const answerDiscovery = (path: string, known: readonly Kind[], response: ServerResponse): boolean => {
  const found = known.filter(kind => versionPath(kind) === path)
  if (found.length > 0) respond(response, 200, { resources: found.map(name => ({ name })) })
  return found.length > 0
}

const createExec = (isAllowed: (request: IncomingMessage) => boolean) => {
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v5.channel.k8s.io" })
  let serve: ServeExec | undefined
  return {
    serve(given: ServeExec) {
      serve = given
    },
    cut() {
      for (const socket of sockets.clients) socket.terminate()
    },
    upgrade(request: IncomingMessage, connection: Duplex, head: Buffer) {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://fake")
      const [, pod] = /\/pods\/([^/]+)\/exec$/.exec(pathname) ?? []
      const answer = serve
      if (!isAllowed(request) || pod === undefined || !answer)
        return connection.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n")
      const asked = {
        pod,
        container: searchParams.get("container") ?? "",
        argv: searchParams.getAll("command"),
      }
      sockets.handleUpgrade(request, connection, head, socket => answer(asked, socket))
    },
  }
}

export const startFakeKubernetes = async (
  namespace: string,
  options: FakeOptions = {},
): Promise<FakeKubernetes> => {
  const known = kinds.filter(kind => !options.lacks?.includes(kind))
  const store = createResources()
  const token = randomUUID()
  const requests: string[] = []
  const watches = new Set<ServerResponse>()
  let oldest = 0
  let isDown = false

  const answerWatch = ({ kind, query }: Asked, response: ServerResponse) => {
    const since = Number(query.get("resourceVersion"))
    response.writeHead(200, { "content-type": "application/json" })
    const send = (event: object) => response.write(`${JSON.stringify(event)}\n`)
    if (since < oldest) {
      send({ type: "ERROR", object: { code: 410 } })
      return response.end()
    }
    const tell = (change: Change) => {
      if (
        change.kind !== kind ||
        change.revision <= since ||
        !matches(change.object, query.get("labelSelector"))
      )
        return
      send({ type: change.type, object: change.object })
    }
    send({ type: "BOOKMARK", object: { metadata: { resourceVersion: `${since}` } } })
    for (const change of store.changes) tell(change)
    store.listeners.add(tell)
    watches.add(response)
    response.on("close", () => {
      store.listeners.delete(tell)
      watches.delete(response)
    })
  }

  const server = createServer((request, response) => {
    const asked = parse(request, namespace)
    if (isDown) return refuse(response, 503)
    if (request.headers.authorization !== `Bearer ${token}`) return refuse(response, 401)
    if (!asked && answerDiscovery(request.url ?? "", known, response)) return
    if (!asked || !known.includes(asked.kind)) return refuse(response, 404)
    requests.push(`${request.method} ${asked.kind}${asked.name === undefined ? "" : `/${asked.name}`}`)
    if (asked.query.has("watch")) return answerWatch(asked, response)
    if (request.method === "GET" && asked.name === undefined) return answerList(store, asked, response)
    answerOther(store, options, asked, request, response).catch(() => refuse(response, 500))
  })
  const exec = createExec(({ headers }) => !isDown && headers.authorization === `Bearer ${token}`)
  server.on("upgrade", exec.upgrade)
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const endWatches = () => {
    for (const watch of watches) watch.destroy()
  }

  return {
    ...{ token, namespace, requests, get: store.get, list: store.list, remove: store.remove },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    put: (kind, name, change) =>
      store.get(kind, name)
        ? store.change(kind, name, change)
        : store.add(kind, merged({ apiVersion: apiVersions[kind], metadata: { name } }, change)),
    listen: listener => void store.listeners.add(listener),
    ...{ serveExec: exec.serve, cutStreams: exec.cut },
    setDown(down) {
      isDown = down
      endWatches()
    },
    compact() {
      oldest = store.revision()
      endWatches()
    },
    async [Symbol.asyncDispose]() {
      exec.cut()
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
