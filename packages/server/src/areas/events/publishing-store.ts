/** What publishing reads and writes, apart from the deliveries themselves. */
import { EVENT_DEDUPE_SECONDS } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

export interface PublishedTopic {
  readonly id: string
  readonly organizationId: string
  readonly projectId: string | null
  readonly ownerId: string
  readonly name: string
  /** The active ones. */
  readonly subscriptions: readonly {
    readonly id: string
    readonly eventTypes: readonly string[]
    readonly maxRetries: number
    readonly ordered: boolean
  }[]
}

/** A topic by its id, whoever asks: the caller compares the owner. */
export const readPublishedTopic = async (db: Db, id: string): Promise<PublishedTopic | undefined> => {
  const [topic, subscriptions] = await Promise.all([
    db.selectFrom("events.topics").selectAll().where("id", "=", id).executeTakeFirst(),
    db
      .selectFrom("events.subscriptions")
      .select(["id", "event_types", "max_retries", "ordered"])
      .where("topic_id", "=", id)
      .where("status", "=", "active")
      .execute(),
  ])
  return (
    topic && {
      id,
      organizationId: topic.organization_id,
      projectId: topic.project_id,
      ownerId: topic.owner_id,
      name: topic.name,
      subscriptions: subscriptions.map(row => ({
        id: row.id,
        eventTypes: row.event_types,
        maxRetries: row.max_retries,
        ordered: row.ordered,
      })),
    }
  )
}

/** A publication that has an id of its publisher's. */
export interface Keyed {
  readonly topicId: string
  readonly dedupeKey: string
  readonly messageId: string
  readonly eventType: string
  readonly source: string | null
  readonly matched: number
  readonly publishedAt: Date
}

export const nameOf = ({ topicId, dedupeKey }: Pick<Keyed, "topicId" | "dedupeKey">): string =>
  `${topicId} ${dedupeKey}`

/**
 * Remembers ids that publishers gave, none of them twice in `keyed`. Gives those that were published before, by topic
 * and id; they are not to be published again.
 */
export const claimDedupeKeys = async (
  db: Db,
  now: Date,
  keyed: readonly Keyed[],
): Promise<ReadonlyMap<string, Keyed>> => {
  if (keyed.length === 0) return new Map()
  // Transactions that meet on several keys lock them in the same order.
  const sorted = [...keyed].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const forgottenBefore = new Date(now.getTime() - EVENT_DEDUPE_SECONDS * 1_000)
  const { rows: claimed } = await sql<{ topic_id: string; dedupe_key: string }>`
    INSERT INTO events.dedupes AS d (topic_id, dedupe_key, message_id, event_type, source, matched, published_at)
    SELECT * FROM unnest(
      ${sorted.map(({ topicId }) => topicId)}::uuid[], ${sorted.map(({ dedupeKey }) => dedupeKey)}::text[],
      ${sorted.map(({ messageId }) => messageId)}::uuid[], ${sorted.map(({ eventType }) => eventType)}::text[],
      ${sorted.map(({ source }) => source)}::text[], ${sorted.map(({ matched }) => matched)}::int4[],
      ${sorted.map(({ publishedAt }) => publishedAt)}::timestamptz[])
    ON CONFLICT (topic_id, dedupe_key) DO UPDATE SET
      message_id = excluded.message_id, event_type = excluded.event_type, source = excluded.source,
      matched = excluded.matched, published_at = excluded.published_at
      WHERE d.published_at <= ${forgottenBefore}
    RETURNING topic_id, dedupe_key`.execute(db)
  const ours = new Set(claimed.map(row => nameOf({ topicId: row.topic_id, dedupeKey: row.dedupe_key })))
  const repeated = sorted.filter(one => !ours.has(nameOf(one)))
  if (repeated.length === 0) return new Map()
  const { rows } = await sql<{
    topic_id: string
    dedupe_key: string
    message_id: string
    event_type: string
    source: string | null
    matched: number
    published_at: Date
  }>`
    SELECT d.* FROM events.dedupes d
    JOIN unnest(${repeated.map(({ topicId }) => topicId)}::uuid[], ${repeated.map(({ dedupeKey }) => dedupeKey)}::text[])
      AS k (topic_id, dedupe_key) USING (topic_id, dedupe_key)`.execute(db)
  return new Map(
    rows.map(row => {
      const first: Keyed = {
        topicId: row.topic_id,
        dedupeKey: row.dedupe_key,
        messageId: row.message_id,
        eventType: row.event_type,
        source: row.source,
        matched: row.matched,
        publishedAt: row.published_at,
      }
      return [nameOf(first), first]
    }),
  )
}

/** Adds to what topics have counted. */
export const addToCounts = async (db: Db, counts: ReadonlyMap<string, number>): Promise<void> => {
  // Two processes that flush at once lock the rows in the same order.
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  await sql`
    UPDATE events.topics t SET event_count = t.event_count + c.count
    FROM (SELECT * FROM unnest(${sorted.map(([id]) => id)}::uuid[], ${sorted.map(([, count]) => count)}::int8[])
      AS c (id, count)) AS c
    WHERE t.id = c.id`.execute(db)
}

/** Forgets ids that publishers gave more than a day ago, 10,000 at most. */
export const pruneDedupeKeys = async (db: Db, now: Date): Promise<void> => {
  const before = new Date(now.getTime() - EVENT_DEDUPE_SECONDS * 1_000)
  await sql`
    DELETE FROM events.dedupes WHERE (topic_id, dedupe_key) IN (
      SELECT topic_id, dedupe_key FROM events.dedupes WHERE published_at < ${before} LIMIT 10000)`.execute(db)
}

/** Topics that keep their events for less than the log does. */
export const readForgetfulTopics = async (db: Db, keptDays: number) =>
  db
    .selectFrom("events.topics")
    .select(["id", "organization_id", "retention_days"])
    .where("retention_days", "<", keptDays)
    .execute()
