import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type LogRow = Selectable<Tables["serving.logs"]>
export type NewLog = Omit<LogRow, "id">

/** Whose lines they are. */
export interface LogOwner {
  readonly id: string
  readonly organization_id: string
}

export interface LogQuery {
  readonly limit: number
  /** Lines since this one, the oldest first; left out: the newest. */
  readonly after?: string
  readonly instanceId?: string
  readonly stream?: string
  /** Part of the line, in letters of any case. */
  readonly text?: string
  readonly since?: Date
  readonly until?: Date
}

/** Rows of serving.logs. */
export const logStore = (db: Db) => ({
  async insert(lines: readonly NewLog[]) {
    await sql`
      INSERT INTO serving.logs (organization_id, service_id, instance_id, at, stream, message)
      SELECT organization_id, service_id, instance_id, at, stream, message
      FROM ROWS FROM (
        jsonb_to_recordset(${JSON.stringify(lines)}) AS (
          organization_id uuid, service_id uuid, instance_id uuid, at timestamptz, stream text, message text)
      ) WITH ORDINALITY AS given (organization_id, service_id, instance_id, at, stream, message, position)
      ORDER BY position`.execute(db)
  },

  async list(
    { id, organization_id }: LogOwner,
    { limit, after, instanceId, stream, text, since, until }: LogQuery,
  ): Promise<LogRow[]> {
    let lines = db
      .selectFrom("serving.logs")
      .selectAll()
      .where("organization_id", "=", organization_id)
      .where("service_id", "=", id)
    if (instanceId !== undefined) lines = lines.where("instance_id", "=", instanceId)
    if (stream !== undefined) lines = lines.where("stream", "=", stream)
    if (since !== undefined) lines = lines.where("at", ">=", since)
    if (until !== undefined) lines = lines.where("at", "<", until)
    if (text !== undefined)
      lines = lines.where(sql<boolean>`strpos(lower(message), lower(${text}::text)) > 0`)
    if (after !== undefined) return lines.where("id", ">", Number(after)).orderBy("id").limit(limit).execute()
    return (await lines.orderBy("id", "desc").limit(limit).execute()).reverse()
  },

  remove: async ({ id, organization_id }: LogOwner) => {
    await db
      .deleteFrom("serving.logs")
      .where("organization_id", "=", organization_id)
      .where("service_id", "=", id)
      .execute()
  },

  /** Leaves the newest lines of a service. */
  async trim({ id, organization_id }: LogOwner, kept: number) {
    await sql`
      DELETE FROM serving.logs WHERE organization_id = ${organization_id} AND service_id = ${id} AND id < (
        SELECT id FROM serving.logs WHERE organization_id = ${organization_id} AND service_id = ${id}
        ORDER BY id DESC OFFSET ${kept - 1} LIMIT 1)`.execute(db)
  },

  async prune(before: Date) {
    await db.deleteFrom("serving.logs").where("at", "<", before).execute()
  },
})
