import { sql } from "kysely"
import pg from "pg"
import type { Logger } from "../log.ts"
import { afterCommit, type Db } from "./database.ts"

/**
 * Tells the caches of every process what changed. A change is told inside the transaction that makes it; other
 * processes hear it at commit, by LISTEN and NOTIFY.
 */
export interface Changes extends AsyncDisposable {
  /**
   * Tells all processes that the thing of this id changed. Call it on the transaction that changes it: the listeners of
   * this process hear it as soon as that has committed, without waiting for the round trip through the database.
   */
  invalidate(db: Db, topic: string, id: string): Promise<void>
  /** Publishes an event to all processes, including this one. */
  notify(db: Db, topic: string, id: string): Promise<void>
  /** Hears of changes. `undefined` means: anything may have changed, because the connection was lost. */
  subscribe(topic: string, hear: (id: string | undefined) => void): void
  /** False while deaf: then nothing may be cached. */
  readonly listening: boolean
}

const CHANNEL = "svc_changes"
const RECONNECT_MS_MAX = 5_000
/** A connection that died silently is found out by this query; until then revocations would go unheard. */
const PROBE_MS = 500
const PROBE = { text: "SELECT 1", query_timeout: PROBE_MS }
const CONNECT_MS_MAX = 10_000

export const listenForChanges = async (connectionString: string, log: Logger): Promise<Changes> => {
  const listeners = new Map<string, ((id: string | undefined) => void)[]>()
  let client: pg.Client | undefined
  let closed = false
  let attempts = 0
  let probe: NodeJS.Timeout | undefined

  const tell = (topic: string, id: string | undefined) => {
    for (const hear of listeners.get(topic) ?? []) hear(id)
  }
  const tellAll = () => {
    for (const topic of listeners.keys()) tell(topic, undefined)
  }

  const open = async (): Promise<pg.Client> => {
    const next = new pg.Client({
      connectionString,
      application_name: "svc-changes",
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS_MAX,
    })
    next.on("notification", ({ payload = "" }) => {
      const [topic = "", id] = payload.split(":")
      tell(topic, id)
    })
    next.on("error", () => lose(next))
    next.on("end", () => lose(next))
    try {
      await next.connect()
      await next.query(`LISTEN ${CHANNEL}`)
      return next
    } catch (error) {
      next.end().catch(() => undefined)
      throw error
    }
  }

  const connect = async () => {
    const next = await open()
    // Disposed of meanwhile.
    if (closed) return await next.end()
    client = next
    attempts = 0
    // What was announced between the loss and now went unheard.
    tellAll()
    // A unix socket closes with its server; only a network connection can die without a word.
    if (next.host.startsWith("/")) return
    probe = setInterval(() => next.query(PROBE).catch(() => lose(next)), PROBE_MS)
    probe.unref()
  }

  const lose = (lost: pg.Client) => {
    if (client !== lost) return
    client = undefined
    clearInterval(probe)
    tellAll()
    lost.end().catch(() => undefined)
    if (!closed) reconnect()
  }

  const reconnect = () => {
    const delay = Math.min(RECONNECT_MS_MAX, 100 * 2 ** attempts++)
    setTimeout(() => {
      if (closed || client) return
      connect().catch(error => {
        log.warn(
          { error: String(error) },
          "listening for change notifications failed; caches are off until reconnected",
        )
        reconnect()
      })
    }, delay).unref()
  }

  const notify = async (db: Db, topic: string, id: string): Promise<void> => {
    await sql`SELECT pg_notify(${CHANNEL}, ${`${topic}:${id}`})`.execute(db)
  }

  await connect()

  return {
    async invalidate(db, topic, id) {
      await notify(db, topic, id)
      afterCommit(db, () => tell(topic, id))
    },
    notify,
    subscribe(topic, hear) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), hear])
    },
    get listening() {
      return client !== undefined
    },
    async [Symbol.asyncDispose]() {
      closed = true
      clearInterval(probe)
      await client?.end()
    },
  }
}
