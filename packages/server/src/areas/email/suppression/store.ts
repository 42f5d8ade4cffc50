import type { SuppressionReason } from "@svc/contract"
import type { Selectable } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"

export type SuppressionRow = Selectable<Tables["email.suppression"]>

export interface SuppressionFilter {
  readonly address: string | undefined
  readonly reason: SuppressionReason | undefined
}

/** One spelling for one mailbox, as nearly as that can be told from outside. */
export const suppressionKey = (address: string): string => address.trim().toLowerCase()

/** Rows of email.suppression. Every statement names the organization. */
export const suppressionStore = (db: Db) => ({
  /** The address's row: the one that was there, or the new one. */
  async add(row: SuppressionRow): Promise<SuppressionRow> {
    const added = await db
      .insertInto("email.suppression")
      .values(row)
      .onConflict(conflict => conflict.columns(["organization_id", "address"]).doNothing())
      .returningAll()
      .executeTakeFirst()
    return added ?? (await this.find(row.organization_id, row.address)) ?? row
  },

  find: (organizationId: string, address: string): Promise<SuppressionRow | undefined> =>
    db
      .selectFrom("email.suppression")
      .where("organization_id", "=", organizationId)
      .where("address", "=", address)
      .selectAll()
      .executeTakeFirst(),

  remove: (organizationId: string, address: string): Promise<SuppressionRow | undefined> =>
    db
      .deleteFrom("email.suppression")
      .where("organization_id", "=", organizationId)
      .where("address", "=", address)
      .returningAll()
      .executeTakeFirst(),

  async among(organizationId: string, addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (addresses.length === 0) return new Set()
    const rows = await db
      .selectFrom("email.suppression")
      .where("organization_id", "=", organizationId)
      .where("address", "in", addresses.map(suppressionKey))
      .select("address")
      .execute()
    return new Set(rows.map(({ address }) => address))
  },

  async list(
    organizationId: string,
    { address, reason }: SuppressionFilter,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: SuppressionRow[]; total: number }> {
    const matching = db
      .selectFrom("email.suppression")
      .where("organization_id", "=", organizationId)
      .$if(address !== undefined, query => query.where("address", "=", address ?? ""))
      .$if(reason !== undefined, query => query.where("reason", "=", reason ?? ""))
    const rows = await matching
      .selectAll()
      .orderBy("created_at", "desc")
      .orderBy("address")
      .limit(limit)
      .offset(offset)
      .execute()
    const { total } = await matching
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow()
    return { rows, total }
  },
})
