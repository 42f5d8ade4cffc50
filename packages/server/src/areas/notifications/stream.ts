import { Readable } from "node:stream"
import type { Call, Principal } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Services } from "../../services.ts"
import type { Live } from "./live.ts"
import { toNotification } from "./payloads.ts"
import { type Inbox, inboxStore } from "./store.ts"

/** Below the half minute after which some proxies drop a silent connection. */
const HEARTBEAT_MS = 15_000
/** Of one inbox in this process: a person with that many open tabs is a program gone wild. */
const STREAMS_MAX = 20
const BATCH_MAX = 100

export interface StreamNeeds {
  readonly db: Db
  readonly live: Live
  readonly clock: Clock
  readonly keys: Services["keys"]
  /** Aborts when the platform begins to stop. */
  readonly stopping: AbortSignal
}

const event = (name: string, data: unknown, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** Sleeps until it is woken. A wake that came while nobody slept ends the next sleep at once. */
const createAlarm = () => {
  let isAwake = false
  let wakeUp: (() => void) | undefined
  return {
    wake() {
      isAwake = true
      wakeUp?.()
    },
    async sleep() {
      if (!isAwake) {
        await new Promise<void>(resolve => {
          wakeUp = resolve
        })
      }
      isAwake = false
    },
  }
}

/** The number that a client saw last; undefined when it says nothing usable. */
const lastSeen = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined

export const createStreams = (needs: StreamNeeds) => {
  const { db, live, clock, keys, stopping } = needs
  const open = new Map<string, number>()
  const beats = new Set<() => void>()
  const ticker = clock.every(HEARTBEAT_MS, () => {
    for (const beat of beats) beat()
  })

  /** Whether the caller may still read: a stream outlives the check of its beginning. */
  const isAllowed = async (principal: Principal, { organizationId }: Inbox): Promise<boolean> => {
    if (principal.session) {
      const session = await db
        .selectFrom("core.sessions as session")
        .innerJoin("core.members as member", "member.user_id", "session.user_id")
        .where("member.organization_id", "=", organizationId)
        .where("session.id", "=", principal.session.id)
        .where("session.expires_at", ">", new Date(clock.now()))
        .select("session.id")
        .executeTakeFirst()
      return session !== undefined
    }
    try {
      // A key with other scopes is checked anew when its client connects again.
      const { scopes } = await keys.byId(principal.id, clock.now())
      return scopes.join() === principal.scopes.join()
    } catch {
      return false
    }
  }

  const count = (userId: string, change: number) => {
    const left = (open.get(userId) ?? 0) + change
    if (left === 0) open.delete(userId)
    else open.set(userId, left)
  }

  const follow = async function* (
    inbox: Inbox,
    principal: Principal,
    seen: number | undefined,
    signal: AbortSignal,
  ) {
    const alarm = createAlarm()
    let isBeat = false
    const beat = () => {
      isBeat = true
      alarm.wake()
    }
    using _news = live.listen(inbox.userId, alarm.wake)
    beats.add(beat)
    signal.addEventListener("abort", alarm.wake)
    const store = inboxStore(db)
    try {
      let seq = seen ?? (await store.lastSeq(inbox))
      let unread: number | undefined
      while (!signal.aborted) {
        const now = new Date(clock.now())
        const count = await store.unreadCount(inbox, now)
        if (count !== unread) yield event("unread_count", { unread_count: count })
        unread = count
        const rows = await store.after(inbox, seq, BATCH_MAX, now)
        const deliveries = await store.deliveries(
          inbox,
          rows.map(({ id }) => id),
        )
        for (const row of rows) {
          seq = row.seq
          yield event("notification", toNotification(row, deliveries), row.seq)
        }
        if (rows.length === BATCH_MAX) continue
        await alarm.sleep()
        if (!isBeat) continue
        isBeat = false
        if (!(await isAllowed(principal, inbox))) return
        yield ": \n\n"
      }
    } finally {
      beats.delete(beat)
      signal.removeEventListener("abort", alarm.wake)
    }
  }

  return {
    /** What happens in the inbox, as server-sent events, until the caller hangs up or may no longer read it. */
    open(inbox: Inbox, call: Call): Readable {
      if ((open.get(inbox.userId) ?? 0) >= STREAMS_MAX) throw fault("rate_limited")
      const signal = AbortSignal.any([call.signal, stopping])
      const seen = lastSeen(call.header("last-event-id"))
      const stream = Readable.from(follow(inbox, call.principal, seen, signal), { objectMode: false })
      count(inbox.userId, 1)
      stream.once("close", () => count(inbox.userId, -1))
      call.setHeader("content-type", "text/event-stream; charset=utf-8")
      call.setHeader("cache-control", "no-cache, no-transform")
      // nginx collects answers otherwise.
      call.setHeader("x-accel-buffering", "no")
      return stream
    },
    [Symbol.dispose]: () => ticker[Symbol.dispose](),
  }
}

export type Streams = ReturnType<typeof createStreams>
