/** A topic's events for somebody who looks on, as server-sent events. */
import type { Readable } from "node:stream"
import { type EventStreams, eventText } from "../../core/event-streams.ts"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { eventIdOf, type Message, standardBody } from "../../services/deliveries/envelope.ts"
import { firstIdOf, readMessages } from "../../services/deliveries/messages.ts"
import { matchesFilter } from "./rules.ts"

const LOOK_EVERY_MS = 250
const READ_AT_ONCE = 200
/** Commits end in another order than ids are made; what comes later than this is missed. */
const LATE_MS_MAX = 10_000

export const TAIL_BOUNDS = {
  /** Of one organization. */
  groupMax: 10,
  totalMax: 100,
  lastsMsMax: 3_600_000,
} as const

const eventOf = (message: Message): string =>
  eventText(message.type, standardBody(message), eventIdOf(message.id))

interface Watched {
  readonly tenantId: string
  readonly topicId: string
  readonly patterns: readonly string[]
}

/** Gives what is new at each look; ids seen within the overlap are kept, so that none comes twice. */
const createLook = (db: Db, atRest: AtRest, { tenantId, topicId, patterns }: Watched) => {
  const seen = new Set<string>()
  const startedMs = Date.now()

  return async (): Promise<Message[]> => {
    const fromMs = Math.max(startedMs, Date.now() - LATE_MS_MAX)
    const oldest = firstIdOf(fromMs)
    const found: Message[] = []
    let afterId = oldest
    for (;;) {
      const read = await readMessages(
        db,
        atRest,
        { tenantId, streamId: topicId },
        { afterId, limit: READ_AT_ONCE },
      )
      found.push(...read.filter(({ id }) => !seen.has(id)))
      const last = read.at(-1)
      if (!last || read.length < READ_AT_ONCE) break
      afterId = last.id
    }
    for (const id of seen) if (id < oldest) seen.delete(id)
    for (const { id } of found) seen.add(id)
    return found.filter(({ type }) => matchesFilter(patterns, type))
  }
}

export interface Tails {
  open(watched: Watched, call: Call): Readable
}

export const createTails = (db: Db, atRest: AtRest, streams: EventStreams): Tails => ({
  open(watched, call) {
    const look = createLook(db, atRest, watched)
    return streams.open(call, watched.tenantId, async function* (watch) {
      yield ": watching\n\n"
      while (!watch.signal.aborted) {
        const found = await look()
        if (found.length > 0) yield found.map(eventOf).join("")
        yield* watch.pause(LOOK_EVERY_MS)
      }
    })
  },
})
