import type { FunctionLogStream, InvocationStatus } from "@svc/contract"
import type { Insertable, Selectable, Updateable } from "kysely"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { FunctionError } from "./frames.ts"

type InvocationTable = Tables["functions.invocations"]
export type InvocationRow = Selectable<InvocationTable>
export type LogRow = Selectable<Tables["functions.logs"]>
export type NewLog = Insertable<Tables["functions.logs"]>
/** A record whose invocation has ended. */
export type EndedInvocation = Omit<InvocationRow, "error"> & { readonly error: FunctionError | null }

/** Whose invocations: a function, which the caller was found to own. */
export interface Of {
  readonly id: string
  readonly organization_id: string
}

export interface LogQuery {
  readonly limit: number
  readonly after: number | undefined
  readonly invocationId: string | undefined
  readonly stream: FunctionLogStream | undefined
}

/** Rows of functions.invocations, functions.payloads and functions.logs. */
export const invocationStore = (db: Db) => {
  const invocations = ({ id, organization_id }: Of) =>
    db
      .selectFrom("functions.invocations")
      .where("organization_id", "=", organization_id)
      .where("function_id", "=", id)

  return {
    async list(
      of: Of,
      { status, ...slice }: Slice & { readonly status: InvocationStatus | undefined },
    ): Promise<{ rows: InvocationRow[]; total: number }> {
      const all = invocations(of)
      const chosen = status === undefined ? all : all.where("status", "=", status)
      return await listRows(chosen.selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice)
    },

    find: (of: Of, id: string): Promise<InvocationRow | undefined> =>
      invocations(of).selectAll().where("id", "=", id).executeTakeFirst(),

    findForUpdate: (of: Of, id: string): Promise<InvocationRow | undefined> =>
      invocations(of).selectAll().where("id", "=", id).forUpdate().executeTakeFirst(),

    insert: async (row: Insertable<InvocationTable>) => {
      await db.insertInto("functions.invocations").values(row).execute()
    },

    update: async ({ id, organization_id }: Of, changes: Updateable<InvocationTable>) => {
      await db
        .updateTable("functions.invocations")
        .set(changes)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    insertPayload: async (invocation_id: string, payload: string) => {
      await db.insertInto("functions.payloads").values({ invocation_id, payload }).execute()
    },

    async readPayload(invocationId: string): Promise<string | undefined> {
      const row = await db
        .selectFrom("functions.payloads")
        .select("payload")
        .where("invocation_id", "=", invocationId)
        .executeTakeFirst()
      return row?.payload
    },

    deletePayload: async (invocationId: string) => {
      await db.deleteFrom("functions.payloads").where("invocation_id", "=", invocationId).execute()
    },

    /** In the order in which they were written: the newest, or with `after` the first since. */
    async logs(
      { id, organization_id }: Of,
      { limit, after, invocationId, stream }: LogQuery,
    ): Promise<LogRow[]> {
      let lines = db
        .selectFrom("functions.logs")
        .selectAll()
        .where("organization_id", "=", organization_id)
        .where("function_id", "=", id)
      if (invocationId !== undefined) lines = lines.where("invocation_id", "=", invocationId)
      if (stream !== undefined) lines = lines.where("stream", "=", stream)
      if (after !== undefined) return lines.where("id", ">", after).orderBy("id").limit(limit).execute()
      return (await lines.orderBy("id", "desc").limit(limit).execute()).reverse()
    },
  }
}

/** Writes what gathered, leaving out functions that were deleted meanwhile. */
export const writeRecords = async (
  db: Db,
  rows: readonly EndedInvocation[],
  lines: readonly NewLog[],
): Promise<void> => {
  if (rows.length > 0) {
    await sql`
      WITH given AS (SELECT * FROM jsonb_populate_recordset(NULL::functions.invocations, ${JSON.stringify(rows)})),
        locked AS (
          SELECT id FROM functions.functions WHERE id IN (SELECT function_id FROM given)
          ORDER BY id FOR NO KEY UPDATE
        ),
        kept AS (
          UPDATE functions.functions AS f
          SET invocation_count = f.invocation_count + counted.n, last_invoked_at = greatest(f.last_invoked_at, counted.at)
          FROM (SELECT function_id, count(*) AS n, max(created_at) AS at FROM given GROUP BY 1) AS counted
          WHERE f.id = counted.function_id AND f.id IN (SELECT id FROM locked)
          RETURNING f.id
        )
      INSERT INTO functions.invocations SELECT given.* FROM given JOIN kept ON kept.id = given.function_id`.execute(
      db,
    )
  }
  if (lines.length > 0) {
    await sql`
      INSERT INTO functions.logs (organization_id, function_id, invocation_id, at, stream, message)
      SELECT organization_id, function_id, invocation_id, at, stream, message
      FROM ROWS FROM (
        jsonb_to_recordset(${JSON.stringify(lines)}) AS (
          organization_id uuid, function_id uuid, invocation_id uuid, at timestamptz, stream text, message text)
      ) WITH ORDINALITY
        AS given (organization_id, function_id, invocation_id, at, stream, message, position)
      WHERE EXISTS (SELECT FROM functions.functions WHERE id = function_id)
      ORDER BY position`.execute(db)
  }
}
