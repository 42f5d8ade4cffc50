/** The log of what happened, as areas read it back. */
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Message } from "./envelope.ts"

export interface StreamOf {
  readonly tenantId: string
  readonly streamId: string
}

interface MessageRow {
  readonly id: string
  readonly tenant_id: string
  readonly project_id: string | null
  readonly type: string
  readonly source: string | null
  readonly topic: string | null
  readonly at: Date
  readonly data: string
}

const toMessage = (row: MessageRow): Message => ({
  id: row.id,
  tenantId: row.tenant_id,
  projectId: row.project_id,
  type: row.type,
  source: row.source,
  topic: row.topic,
  at: row.at,
  data: row.data,
})

/** A stream's messages in the order of their ids, which is that of their making to the millisecond. */
export const readMessages = async (
  db: Db,
  { tenantId, streamId }: StreamOf,
  range: { readonly afterId: string; readonly since?: Date; readonly until?: Date; readonly limit: number },
): Promise<Message[]> => {
  const { afterId, since, until, limit } = range
  const { rows } = await sql<MessageRow>`
    SELECT id, tenant_id, project_id, type, source, topic, at, data FROM deliveries.messages
    WHERE tenant_id = ${tenantId} AND stream_id = ${streamId} AND id > ${afterId}
      AND ${since ? sql`at >= ${since}` : sql`true`} AND ${until ? sql`at < ${until}` : sql`true`}
    ORDER BY id LIMIT ${limit}`.execute(db)
  return rows.map(toMessage)
}

/** Deletes a stream's messages of before a time, 5,000 at most; gives how many there were. */
export const expireMessages = async (db: Db, { tenantId, streamId }: StreamOf, before: Date): Promise<number> => {
  const { numAffectedRows } = await sql`
    DELETE FROM deliveries.messages WHERE id = ANY(ARRAY(
      SELECT id FROM deliveries.messages
      WHERE tenant_id = ${tenantId} AND stream_id = ${streamId} AND at < ${before} ORDER BY id LIMIT 5000))`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
