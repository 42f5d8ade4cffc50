/** The log of what happened, as areas read it back. */
import { sql } from "kysely"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Db } from "../../kernel/db/database.ts"
import { decrypted } from "./at-rest.ts"
import type { Message } from "./envelope.ts"

/** The smallest id of a time: ids are UUIDs of version 7. */
export const firstIdOf = (ms: number): string => {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

export interface StreamOf {
  readonly tenantId: string
  readonly streamId: string
}

export interface MessageRow {
  readonly id: string
  readonly tenant_id: string
  readonly project_id: string | null
  readonly type: string
  readonly source: string | null
  readonly topic: string | null
  readonly at: Date
  readonly data: string
}

export const toMessage = (row: MessageRow): Message => ({
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
  atRest: AtRest,
  { tenantId, streamId }: StreamOf,
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<Message[]> => {
  const { rows } = await sql<MessageRow>`
    SELECT id, tenant_id, project_id, type, source, topic, at, data FROM deliveries.messages
    WHERE tenant_id = ${tenantId} AND stream_id = ${streamId} AND id > ${afterId}
    ORDER BY id LIMIT ${limit}`.execute(db)
  const messages = await Promise.all(rows.map(row => decrypted(atRest, toMessage(row))))
  return messages.flatMap(message => message ?? [])
}

/** Deletes a stream's messages of before a time, 5,000 at most; gives how many there were. */
export const expireMessages = async (
  db: Db,
  { tenantId, streamId }: StreamOf,
  before: Date,
): Promise<number> => {
  const { numAffectedRows } = await sql`
    DELETE FROM deliveries.messages WHERE id = ANY(ARRAY(
      SELECT id FROM deliveries.messages
      WHERE tenant_id = ${tenantId} AND stream_id = ${streamId} AND id < ${firstIdOf(before.getTime())}
      ORDER BY id LIMIT 5000))`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
