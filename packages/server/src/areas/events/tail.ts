/** A topic's events for somebody who looks on, as server-sent events. */
import { Readable } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"
import { eventIdOf, type Message, standardBody } from "../../core/deliveries/envelope.ts"
import { firstIdOf, readMessages } from "../../core/deliveries/messages.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { matchesFilter } from "./rules.ts"

const LOOK_EVERY_MS = 250
const READ_AT_ONCE = 200
/** Commits end in another order than ids are made; what comes later than this is missed. */
const LATE_MS_MAX = 10_000
const PING_EVERY_MS = 15_000
const LASTS_MS_MAX = 3_600_000
const TAILS_MAX = 100
/** Of one organization. */
const TAILS_OF_ONE_MAX = 10

const eventOf = (message: Message): string =>
  `id: ${eventIdOf(message.id)}\nevent: ${message.type}\ndata: ${standardBody(message)}\n\n`

interface Watched {
  readonly tenantId: string
  readonly topicId: string
  readonly patterns: readonly string[]
}

/** Gives what is new at each look; ids seen within the overlap are kept, so that none comes twice. */
const createLook = (db: Db, { tenantId, topicId, patterns }: Watched) => {
  const seen = new Set<string>()
  const startedMs = Date.now()

  return async (): Promise<Message[]> => {
    const fromMs = Math.max(startedMs, Date.now() - LATE_MS_MAX)
    const found: Message[] = []
    let afterId = firstIdOf(fromMs)
    for (;;) {
      const read = await readMessages(db, { tenantId, streamId: topicId }, { afterId, limit: READ_AT_ONCE })
      found.push(...read.filter(({ id }) => !seen.has(id)))
      const last = read.at(-1)
      if (!last || read.length < READ_AT_ONCE) break
      afterId = last.id
    }
    const oldest = firstIdOf(fromMs)
    for (const id of seen) if (id < oldest) seen.delete(id)
    for (const { id } of found) seen.add(id)
    return found.filter(({ type }) => matchesFilter(patterns, type))
  }
}

async function* events(look: () => Promise<Message[]>, signal: AbortSignal) {
  const endMs = performance.now() + LASTS_MS_MAX
  let pingMs = performance.now() + PING_EVERY_MS
  yield ": watching\n\n"
  while (!signal.aborted && performance.now() < endMs) {
    const found = await look()
    if (found.length > 0) yield found.map(eventOf).join("")
    else if (performance.now() >= pingMs) yield ": still watching\n\n"
    else {
      await delay(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined)
      continue
    }
    pingMs = performance.now() + PING_EVERY_MS
  }
}

export const createTails = (db: Db) => {
  const open = new Map<string, number>()
  let total = 0

  return {
    open(watched: Watched, call: Call): Readable {
      const { tenantId } = watched
      const own = open.get(tenantId) ?? 0
      if (own >= TAILS_OF_ONE_MAX || total >= TAILS_MAX) throw fault("rate_limited")
      open.set(tenantId, own + 1)
      total++
      call.setHeader("content-type", "text/event-stream")
      call.setHeader("cache-control", "no-store")
      const stream = Readable.from(events(createLook(db, watched), call.signal))
      stream.once("close", () => {
        total--
        const left = (open.get(tenantId) ?? 1) - 1
        if (left === 0) open.delete(tenantId)
        else open.set(tenantId, left)
      })
      return stream
    },
  }
}

export type Tails = ReturnType<typeof createTails>
