import type { Readable } from "node:stream"
import { type EventStreams, eventText, lastEventNumber, type Watch } from "../../core/event-streams.ts"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Notifier } from "../../kernel/notifier.ts"
import { toNotification } from "./payloads.ts"
import { type Inbox, inboxStore } from "./store.ts"

/** Of one inbox in this process: a person with that many open tabs is a program gone wild. */
export const STREAMS_MAX = 20
const BATCH_MAX = 100

export interface InboxStreamsNeeds {
  readonly db: Db
  readonly notifier: Notifier
  readonly clock: Clock
  readonly streams: EventStreams
}

export interface InboxStreams {
  /** What happens in the inbox, until the caller hangs up or may no longer read it. */
  open(inbox: Inbox, call: Call): Readable
}

export const createInboxStreams = ({ db, notifier, clock, streams }: InboxStreamsNeeds): InboxStreams => {
  async function* follow(inbox: Inbox, seen: number | undefined, watch: Watch): AsyncGenerator<string> {
    using _news = notifier.subscribe(inbox.userId, watch.wake)
    const store = inboxStore(db)
    let seq = seen ?? (await store.lastSeq(inbox))
    let unread: number | undefined
    while (!watch.signal.aborted) {
      const now = new Date(clock.now())
      const count = await store.unreadCount(inbox, now)
      if (count !== unread) yield eventText("unread_count", JSON.stringify({ unread_count: count }))
      unread = count
      const rows = await store.after(inbox, seq, BATCH_MAX, now)
      const deliveries = await store.deliveries(
        inbox,
        rows.map(({ id }) => id),
      )
      for (const row of rows) {
        seq = row.seq
        yield eventText("notification", JSON.stringify(toNotification(row, deliveries)), row.seq)
      }
      if (rows.length < BATCH_MAX) yield* watch.pause()
    }
  }

  return {
    open: (inbox, call) =>
      streams.open(call, inbox.userId, watch => follow(inbox, lastEventNumber(call), watch)),
  }
}
