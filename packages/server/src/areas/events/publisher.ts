import type { Database } from "../../kernel/db/database.ts"
import type { Deliveries, NewMessage } from "../../services/deliveries/deliveries.ts"
import { eventIdOf, messageIdOf } from "../../services/deliveries/envelope.ts"
import type { EventCounts } from "./event-counts.ts"
import { claimDedupeKeys, type Keyed, nameOf, type PublishedTopic } from "./publishing-store.ts"
import { matchesFilter } from "./rules.ts"

/** Deliveries are of this kind. */
export const SUBSCRIPTION_KIND = "subscription"
/** Commits under way: while one waits for the disk the next one gathers. */
const COMMITS_MAX = 2
/** Events of one commit, and about how many bytes of their data. */
const GATHERED_MAX = 1_000
const GATHERED_BYTES_MAX = 8 * 1_048_576

/** An event that is to be published. */
export interface Publication {
  readonly topic: PublishedTopic
  /** `evt_…` */
  readonly eventId: string
  readonly eventType: string
  readonly source: string | null
  readonly data: string
  readonly occurredAt: Date
  readonly publishedAt: Date
  readonly orderingKey: string | undefined
  /** The publisher's own id. */
  readonly dedupeKey: string | undefined
}

export interface PublishResult {
  readonly eventId: string
  readonly eventType: string
  readonly source: string | null
  readonly publishedAt: Date
  readonly matched: number
  readonly duplicate: boolean
}

interface QueuedPublication {
  readonly publications: readonly Publication[]
  readonly bytes: number
  readonly resolve: (results: readonly PublishResult[]) => void
  readonly reject: (error: unknown) => void
}

const messageOf = (publication: Publication): NewMessage => {
  const { topic, orderingKey } = publication
  const matching = topic.subscriptions.filter(({ eventTypes }) =>
    matchesFilter(eventTypes, publication.eventType),
  )
  return {
    ...{ id: publication.eventId, kind: SUBSCRIPTION_KIND, streamId: topic.id, topic: topic.name },
    ...{ tenantId: topic.organizationId, projectId: topic.projectId },
    ...{ type: publication.eventType, source: publication.source, at: publication.occurredAt },
    data: publication.data,
    recipients: matching.map(({ id, maxRetries, ordered }) => ({
      ...{ endpointId: id, maxRetries },
      orderingKey: ordered ? orderingKey : undefined,
    })),
  }
}

const keyedOf = (publication: Publication, matched: number): Keyed | undefined =>
  publication.dedupeKey === undefined
    ? undefined
    : {
        topicId: publication.topic.id,
        dedupeKey: publication.dedupeKey,
        messageId: messageIdOf(publication.eventId),
        eventType: publication.eventType,
        source: publication.source,
        matched,
        publishedAt: publication.publishedAt,
      }

/** The first of each id in one commit; the others are its duplicates. */
const firstOfEach = (keyed: readonly (Keyed | undefined)[]): ReadonlyMap<string, Keyed> => {
  const first = new Map<string, Keyed>()
  for (const one of keyed) if (one && !first.has(nameOf(one))) first.set(nameOf(one), one)
  return first
}

const resultOf = (publication: Publication, matched: number, first: Keyed | undefined): PublishResult => {
  const { eventId, eventType, source, publishedAt } = publication
  if (!first) return { eventId, eventType, source, publishedAt, matched, duplicate: false }
  const { messageId, ...known } = first
  return {
    ...{ eventId: eventIdOf(messageId), eventType: known.eventType, source: known.source },
    ...{ publishedAt: known.publishedAt, matched: known.matched, duplicate: true },
  }
}

const recipientsOf = (message: NewMessage | undefined): number => message?.recipients.length ?? 0

/** Where some have ids of their publishers: those that were published before are not published again. */
const commitKeyed = (
  database: Database,
  deliveries: Deliveries,
  publications: readonly Publication[],
  messages: readonly NewMessage[],
): Promise<readonly PublishResult[]> =>
  database.transaction(async tx => {
    const keyed = publications.map((one, at) => keyedOf(one, recipientsOf(messages[at])))
    const chosen = firstOfEach(keyed)
    const repeated = await claimDedupeKeys(tx, publications[0]?.publishedAt ?? new Date(), [
      ...chosen.values(),
    ])
    /** What was published in the place of the event at that position, if anything was. */
    const inItsPlace = keyed.map(one => {
      if (!one) return undefined
      const first = repeated.get(nameOf(one)) ?? chosen.get(nameOf(one))
      return first === one ? undefined : first
    })
    await deliveries.enqueue(
      tx,
      messages.filter((_, at) => inItsPlace[at] === undefined),
    )
    return publications.map((one, at) => resultOf(one, recipientsOf(messages[at]), inItsPlace[at]))
  })

/** Publishes events of many requests in one commit: the disk is waited for once. */
const commit = async (
  database: Database,
  deliveries: Deliveries,
  publications: readonly Publication[],
): Promise<readonly PublishResult[]> => {
  const messages = publications.map(messageOf)
  if (publications.some(({ dedupeKey }) => dedupeKey !== undefined)) {
    return commitKeyed(database, deliveries, publications, messages)
  }
  // One statement, which commits by itself.
  await deliveries.enqueue(database.db, messages)
  return publications.map((one, at) => resultOf(one, recipientsOf(messages[at]), undefined))
}

export interface Publisher {
  /** Resolves once they are on disk, all of them or none. */
  publish(publications: readonly Publication[]): Promise<readonly PublishResult[]>
}

export const createPublisher = (
  database: Database,
  deliveries: Deliveries,
  counts: EventCounts,
): Publisher => {
  const waiting: QueuedPublication[] = []
  let commits = 0
  let isPlanned = false

  const gather = (): QueuedPublication[] => {
    let events = 0
    let bytes = 0
    let count = 0
    for (const one of waiting) {
      events += one.publications.length
      bytes += one.bytes
      if (count > 0 && (events > GATHERED_MAX || bytes > GATHERED_BYTES_MAX)) break
      count++
    }
    return waiting.splice(0, count)
  }

  const write = async (gathered: readonly QueuedPublication[]) => {
    try {
      const all = gathered.flatMap(({ publications }) => publications)
      const results = await commit(database, deliveries, all)
      for (const [at, { topic }] of all.entries()) if (!results[at]?.duplicate) counts.add(topic.id, 1)
      let from = 0
      for (const { publications, resolve } of gathered) {
        resolve(results.slice(from, from + publications.length))
        from += publications.length
      }
    } catch (error) {
      for (const { reject } of gathered) reject(error)
    }
  }

  const run = async () => {
    isPlanned = false
    if (commits >= COMMITS_MAX || waiting.length === 0) return
    commits++
    await write(gather())
    commits--
    void run()
  }

  return {
    publish: publications =>
      new Promise((resolve, reject) => {
        const bytes = publications.reduce((sum, { data }) => sum + data.length, 0)
        waiting.push({ publications, bytes, resolve, reject })
        if (isPlanned || commits >= COMMITS_MAX) return
        isPlanned = true
        // Requests that came in the same turn go together.
        setImmediate(run)
      }),
  }
}
