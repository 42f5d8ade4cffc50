import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type AgreementRow = Selectable<Tables["billing.agreements"]>
export type FeedbackRow = Selectable<Tables["billing.feedback"]>

/** Rows of agreements, of what they charged, and of feedback. Statements of a tenant's call name the organization. */
export const agreementStore = (db: Db) => ({
  list: (organizationId: string): Promise<AgreementRow[]> =>
    db
      .selectFrom("billing.agreements")
      .where("organization_id", "=", organizationId)
      .selectAll()
      .orderBy("module")
      .execute(),

  find: (organizationId: string, module: string): Promise<AgreementRow | undefined> =>
    db
      .selectFrom("billing.agreements")
      .where("organization_id", "=", organizationId)
      .where("module", "=", module)
      .selectAll()
      .executeTakeFirst(),

  put: async (row: AgreementRow) => {
    await db
      .insertInto("billing.agreements")
      .values(row)
      .onConflict(conflict => conflict.columns(["organization_id", "module"]).doUpdateSet(row))
      .execute()
  },

  disable: async (organizationId: string, module: string, now: Date) => {
    await db
      .updateTable("billing.agreements")
      .set({ status: "disabled", disabled_at: now, autodebit_since: null })
      .where("organization_id", "=", organizationId)
      .where("module", "=", module)
      .where("status", "=", "active")
      .execute()
  },

  /** What of the month is charged already, locked until the transaction ends. */
  async lockCharged(organizationId: string, month: Date, metric: string): Promise<number> {
    const { rows } = await sql<{ cost_micros: number }>`
      INSERT INTO billing.charged AS c (organization_id, month, metric, cost_micros)
      VALUES (${organizationId}::uuid, ${month.toISOString().slice(0, 10)}::date, ${metric}, 0)
      ON CONFLICT (organization_id, month, metric) DO UPDATE SET cost_micros = c.cost_micros
      RETURNING cost_micros`.execute(db)
    return rows[0]?.cost_micros ?? 0
  },

  setCharged: async (organizationId: string, month: Date, metric: string, costMicros: number) => {
    await db
      .updateTable("billing.charged")
      .set({ cost_micros: costMicros })
      .where("organization_id", "=", organizationId)
      .where("month", "=", month.toISOString().slice(0, 10))
      .where("metric", "=", metric)
      .execute()
  },

  insertFeedback: async (row: FeedbackRow) => {
    await db.insertInto("billing.feedback").values(row).execute()
  },

  /** Of all organizations, for the operator. */
  feedback: (slice: Slice) =>
    listRows(db.selectFrom("billing.feedback").selectAll().orderBy("id", "desc"), slice),

  /** Of the organizations that agreed to it, for the operator. */
  glitches: (since: Date, slice: Slice) =>
    listRows(
      db
        .selectFrom("core.usage as usage")
        .innerJoin("billing.agreements as agreement", "agreement.organization_id", "usage.organization_id")
        .where("agreement.module", "=", "glitch-tracker")
        .where("agreement.status", "=", "active")
        .where("usage.metric", "=", "request_errors")
        .where("usage.day", ">=", since.toISOString().slice(0, 10))
        .select(["usage.organization_id", "usage.day", "usage.project_id", "usage.key_id", "usage.quantity"])
        .orderBy("usage.day", "desc")
        .orderBy("usage.organization_id")
        .orderBy("usage.project_id")
        .orderBy("usage.key_id"),
      slice,
    ),

  /** Organizations, active ones, whose use may have to be charged: those that asked for it, or all that used something. */
  async toCharge(month: Date, isAll: boolean): Promise<readonly { id: string; plan: string }[]> {
    const organizations = db
      .selectFrom("core.organizations as organization")
      .where("organization.deleted_at", "is", null)
      .select(["organization.id", "organization.plan"])
      .orderBy("organization.id")
    if (!isAll)
      return organizations
        .where(eb =>
          eb.exists(
            eb
              .selectFrom("billing.agreements as agreement")
              .whereRef("agreement.organization_id", "=", "organization.id")
              .where("agreement.autodebit_since", "is not", null)
              .select("agreement.module"),
          ),
        )
        .execute()
    return organizations
      .where(eb =>
        eb.exists(
          eb
            .selectFrom("core.usage as usage")
            .whereRef("usage.organization_id", "=", "organization.id")
            .where("usage.day", ">=", month.toISOString().slice(0, 10))
            .select("usage.metric"),
        ),
      )
      .execute()
  },
})
