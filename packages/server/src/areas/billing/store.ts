import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type PaymentRow = Selectable<Tables["billing.payments"]>
export type InvoiceRow = Selectable<Tables["billing.invoices"]>
export type SubscriptionRow = Selectable<Tables["billing.subscriptions"]>

/** Rows of billing. The statements of a tenant's call name the organization; those of the operator's name the thing. */
export const billingStore = (db: Db) => ({
  insertPayment: async (row: PaymentRow) => {
    await db.insertInto("billing.payments").values(row).execute()
  },

  /** Of any organization: for the page, whose address is the secret, and for the operator. */
  findPayment: (id: string): Promise<PaymentRow | undefined> =>
    db.selectFrom("billing.payments").where("id", "=", id).selectAll().executeTakeFirst(),

  /** Of any organization, locked until the transaction ends. */
  lockPayment: (id: string): Promise<PaymentRow | undefined> =>
    db.selectFrom("billing.payments").where("id", "=", id).selectAll().forUpdate().executeTakeFirst(),

  updatePayment: async (organizationId: string, id: string, change: Partial<PaymentRow>) => {
    await db
      .updateTable("billing.payments")
      .set(change)
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .execute()
  },

  payments: (organizationId: string, slice: Slice) =>
    listRows(
      db
        .selectFrom("billing.payments")
        .where("organization_id", "=", organizationId)
        .selectAll()
        .orderBy("id", "desc"),
      slice,
    ),

  insertInvoice: async (row: InvoiceRow) => {
    await db.insertInto("billing.invoices").values(row).execute()
  },

  findInvoice: (organizationId: string, id: string): Promise<InvoiceRow | undefined> =>
    db
      .selectFrom("billing.invoices")
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .selectAll()
      .executeTakeFirst(),

  lockInvoice: (organizationId: string, id: string): Promise<InvoiceRow | undefined> =>
    db
      .selectFrom("billing.invoices")
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .selectAll()
      .forUpdate()
      .executeTakeFirst(),

  updateInvoice: async (organizationId: string, id: string, change: Partial<InvoiceRow>) => {
    await db
      .updateTable("billing.invoices")
      .set(change)
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .execute()
  },

  invoices: (organizationId: string, slice: Slice) =>
    listRows(
      db
        .selectFrom("billing.invoices")
        .where("organization_id", "=", organizationId)
        .selectAll()
        .orderBy("id", "desc"),
      slice,
    ),

  /** The next number of a series; others wait for it until the transaction ends. */
  async nextNumber(series: string): Promise<number> {
    const { rows } = await sql<{ last: number }>`
      INSERT INTO billing.series AS s (name, last) VALUES (${series}, 1)
      ON CONFLICT (name) DO UPDATE SET last = s.last + 1 RETURNING last`.execute(db)
    return rows[0]?.last ?? 1
  },

  subscription: (organizationId: string): Promise<SubscriptionRow | undefined> =>
    db
      .selectFrom("billing.subscriptions")
      .where("organization_id", "=", organizationId)
      .selectAll()
      .executeTakeFirst(),

  putSubscription: async (row: SubscriptionRow) => {
    await db
      .insertInto("billing.subscriptions")
      .values(row)
      .onConflict(conflict => conflict.column("organization_id").doUpdateSet(row))
      .execute()
  },

  /** What an organization used from one day to before another, by meter. */
  async usage(organizationId: string, from: Date, until: Date): Promise<ReadonlyMap<string, number>> {
    const rows = await db
      .selectFrom("core.usage")
      .select(["metric", eb => eb.fn.sum<number>("quantity").as("quantity")])
      .where("organization_id", "=", organizationId)
      .where("day", ">=", from.toISOString().slice(0, 10))
      .where("day", "<", until.toISOString().slice(0, 10))
      .groupBy("metric")
      .execute()
    return new Map(rows.map(({ metric, quantity }) => [metric, quantity]))
  },
})
export type BillingStore = ReturnType<typeof billingStore>
