/** Rows that delivering mails reads and writes for many at once; every statement names the organizations. */

import { sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import { toIso } from "../../../kernel/to-iso.ts"
import type { AttachmentRow, MessageRow, RecipientRow } from "./store.ts"

/** A row of an organization's. */
export interface Key {
  readonly organization_id: string
  readonly id: string
}

const among = (column: string, keys: readonly Key[]) => sql<boolean>`
  (organization_id, ${sql.ref(column)}) IN (SELECT * FROM unnest(
    ${keys.map(({ organization_id }) => organization_id)}::uuid[], ${keys.map(({ id }) => id)}::uuid[]))`

export const readMessages = async (db: Db, messages: readonly Key[]): Promise<MessageRow[]> => {
  const rows = await db.selectFrom("email.messages").where(among("id", messages)).selectAll().execute()
  return rows.map(row => row as unknown as MessageRow)
}

export const readRecipients = async (db: Db, recipients: readonly Key[]): Promise<RecipientRow[]> => {
  const rows = await db.selectFrom("email.recipients").where(among("id", recipients)).selectAll().execute()
  return rows.map(row => row as unknown as RecipientRow)
}

/** Those of each message in their order. */
export const readAttachments = (db: Db, messages: readonly Key[]): Promise<AttachmentRow[]> =>
  db
    .selectFrom("email.attachments")
    .where(among("email_id", messages))
    .selectAll()
    .orderBy("position")
    .execute()

export type SettledRecipient = Pick<
  RecipientRow,
  "organization_id" | "id" | "status" | "attempts" | "last_error" | "captured_at" | "updated_at"
>

/** Gives the ids of those that were still waiting: the mails of the others were cancelled. */
export const settleRecipients = async (
  db: Db,
  settled: readonly SettledRecipient[],
): Promise<ReadonlySet<string>> => {
  const times = (at: (one: SettledRecipient) => Date | null) => settled.map(one => toIso(at(one)))
  const { rows } = await sql<{ id: string }>`
    WITH held AS (
      SELECT id FROM email.recipients
      WHERE ${among("id", settled)} AND status IN ('queued', 'delayed')
      ORDER BY id FOR UPDATE)
    UPDATE email.recipients r
    SET status = o.status, attempts = o.attempts, last_error = o.last_error, captured_at = o.captured_at,
      updated_at = o.updated_at
    FROM held JOIN unnest(
      ${settled.map(({ id }) => id)}::uuid[], ${settled.map(({ status }) => status)}::text[],
      ${settled.map(({ attempts }) => attempts)}::integer[],
      ${settled.map(({ last_error }) => last_error)}::text[],
      ${times(one => one.captured_at)}::timestamptz[], ${times(one => one.updated_at)}::timestamptz[]
    ) AS o (id, status, attempts, last_error, captured_at, updated_at) USING (id)
    WHERE r.id = held.id
    RETURNING r.id`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
