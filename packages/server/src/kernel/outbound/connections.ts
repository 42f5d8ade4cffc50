import { type buildConnector, Client } from "undici"

/** More requests to one origin wait for their turn. */
const ORIGIN_CONNECTIONS_MAX = 64
/** Over all origins; the one that was idle the longest is closed for another. */
const IDLE_CONNECTIONS_MAX = 256
const IDLE_MS_MAX = 10_000
const HEADERS_BYTES_MAX = 16_384

export interface Connection {
  readonly client: Client
  readonly origin: string
  /** Whether it served before. */
  isUsed: boolean
  /** The address that it goes to; empty before the first request. */
  address(): string
}

export interface Connections extends Disposable {
  /** Exclusive until it is released. Rejects with the signal's reason. */
  take(origin: string, signal: AbortSignal): Promise<Connection>
  /** `reusable`: the last answer was read to its end. */
  give(connection: Connection, reusable: boolean): void
}

interface Origin {
  readonly idle: Connection[]
  readonly waiting: Set<(connection: Connection) => void>
  open: number
}

const openConnection = (origin: string, connector: buildConnector.connector): Connection => {
  let address = ""
  const client = new Client(origin, {
    connect: (options, done) =>
      connector(options, (...[error, socket]) => {
        if (error) return done(error, null)
        address = socket.remoteAddress ?? ""
        done(null, socket)
      }),
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
    keepAliveTimeout: IDLE_MS_MAX,
    keepAliveMaxTimeout: IDLE_MS_MAX,
    // A call has one deadline for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return { client, origin, isUsed: false, address: () => address }
}

/**
 * One client a connection, because undici's own pools neither say which address a request went to nor bound what idles
 * over all origins.
 */
export const createConnections = (connector: buildConnector.connector): Connections => {
  const origins = new Map<string, Origin>()
  /** Of all origins, the longest idle first. */
  const idle = new Set<Connection>()

  const close = (connection: Connection): void => {
    const origin = origins.get(connection.origin)
    idle.delete(connection)
    void connection.client.destroy()
    if (!origin) return
    const at = origin.idle.indexOf(connection)
    if (at >= 0) origin.idle.splice(at, 1)
    origin.open--
    if (origin.open === 0) origins.delete(connection.origin)
  }

  const open = (name: string): Connection => {
    const connection = openConnection(name, connector)
    connection.client.on("disconnect", () => {
      if (idle.has(connection)) close(connection)
    })
    return connection
  }

  const originOf = (name: string): Origin => {
    const known = origins.get(name)
    if (known) return known
    const origin: Origin = { idle: [], waiting: new Set(), open: 0 }
    origins.set(name, origin)
    return origin
  }

  const turn = ({ waiting }: Origin, signal: AbortSignal) =>
    new Promise<Connection>((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(onTurn)
        reject(signal.reason)
      }
      const onTurn = (connection: Connection) => {
        signal.removeEventListener("abort", onAbort)
        resolve(connection)
      }
      signal.addEventListener("abort", onAbort, { once: true })
      waiting.add(onTurn)
    })

  return {
    async take(name, signal) {
      signal.throwIfAborted()
      const origin = originOf(name)
      const found = origin.idle.pop()
      if (found) {
        idle.delete(found)
        return found
      }
      if (origin.open >= ORIGIN_CONNECTIONS_MAX) return turn(origin, signal)
      origin.open++
      return open(name)
    },

    give(connection, reusable) {
      const origin = originOf(connection.origin)
      connection.isUsed = true
      const isLive = reusable && connection.client.stats.connected && !connection.client.destroyed
      const [next] = origin.waiting
      if (next) {
        origin.waiting.delete(next)
        if (!isLive) void connection.client.destroy()
        return next(isLive ? connection : open(connection.origin))
      }
      if (!isLive) return close(connection)
      origin.idle.push(connection)
      idle.add(connection)
      const [oldest] = idle
      if (oldest && idle.size > IDLE_CONNECTIONS_MAX) close(oldest)
    },

    [Symbol.dispose]() {
      for (const connection of idle) close(connection)
    },
  }
}
