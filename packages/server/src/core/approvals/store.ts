import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ApprovalRow = Tables["core.approvals"]

export interface ApprovalRecord extends ApprovalRow {
  decider_email: string | null
}

export type ApprovalStatus =
  | "pending"
  | "approved"
  | "executing"
  | "executed"
  | "failed"
  | "rejected"
  | "expired"
  | "cancelled"

/** Rows of core.approvals. */
export const approvalStore = (db: Db) => {
  const records = (organizationId: string) =>
    db
      .selectFrom("core.approvals as approval")
      .leftJoin("core.users as decider", "decider.id", "approval.decided_by")
      .selectAll("approval")
      .select("decider.email as decider_email")
      .where("approval.organization_id", "=", organizationId)

  return {
    insert: (row: ApprovalRow): Promise<unknown> => db.insertInto("core.approvals").values(row).execute(),

    find: (organizationId: string, id: string): Promise<ApprovalRecord | undefined> =>
      records(organizationId).where("approval.id", "=", id).executeTakeFirst(),

    async list(
      organizationId: string,
      filter: {
        keyId?: string | undefined
        /** The projects whose approvals the reader may see; null: all. */
        projectIds: ReadonlySet<string> | null
        status?: string | undefined
        limit: number
        offset: number
      },
    ): Promise<{ rows: ApprovalRecord[]; total: number }> {
      let rows = records(organizationId)
      if (filter.keyId !== undefined) rows = rows.where("approval.key_id", "=", filter.keyId)
      if (filter.projectIds)
        rows = rows.where(sql<boolean>`approval.project_id = ANY(${[...filter.projectIds]}::uuid[])`)
      if (filter.status !== undefined) rows = rows.where("approval.status", "=", filter.status)
      const { total } = await rows
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const page = await rows
        .orderBy("approval.requested_at", "desc")
        .orderBy("approval.id", "desc")
        .limit(filter.limit)
        .offset(filter.offset)
        .execute()
      return { rows: page, total }
    },

    async countPending(keyId: string): Promise<number> {
      const { count } = await db
        .selectFrom("core.approvals")
        .select(eb => eb.fn.countAll<number>().as("count"))
        .where("key_id", "=", keyId)
        .where("status", "=", "pending")
        .executeTakeFirstOrThrow()
      return count
    },

    /** Moves the approval from one state to another, unless another request did so first. */
    async move(id: string, from: ApprovalStatus, change: Partial<ApprovalRow> & { status: ApprovalStatus }) {
      return await db
        .updateTable("core.approvals")
        .set(change)
        .where("id", "=", id)
        .where("status", "=", from)
        .returningAll()
        .executeTakeFirst()
    },

    cancelOfKey: (keyId: string): Promise<unknown> =>
      db
        .updateTable("core.approvals")
        .set({ status: "cancelled" })
        .where("key_id", "=", keyId)
        .where("status", "=", "pending")
        .execute(),

    expire: (now: Date): Promise<unknown> =>
      db
        .updateTable("core.approvals")
        .set({ status: "expired" })
        .where("status", "=", "pending")
        .where("expires_at", "<=", now)
        .execute(),

    /** What a process left behind that died: approved and never started, or started and never finished. */
    abandoned: (before: Date): Promise<ApprovalRow[]> =>
      db
        .selectFrom("core.approvals")
        .selectAll()
        .where(eb =>
          eb.or([
            eb.and([eb("status", "=", "approved"), eb("decided_at", "<", before)]),
            eb.and([eb("status", "=", "executing"), eb("executing_since", "<", before)]),
          ]),
        )
        .execute(),
  }
}
