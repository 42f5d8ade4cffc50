import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type WalletRow = Selectable<Tables["ledger.wallets"]>
export type TransferRow = Selectable<Tables["ledger.transfers"]>

export interface WalletLimits {
  readonly overage_limit_micros?: number | null
  readonly cap_micros?: number | null
  readonly cap_action?: "stop" | "notify"
}

/** What is read of the ledger, and the limits of a wallet. Every statement names the organization. */
export const ledgerStore = (db: Db) => {
  const transfers = (organizationId: string) =>
    db.selectFrom("ledger.transfers").where("organization_id", "=", organizationId).selectAll()

  return {
    /** As it is at that time: credit that expired since the last transfer is gone. Undefined where there never was any. */
    async wallet(organizationId: string, now: Date): Promise<WalletRow | undefined> {
      const find = () =>
        db
          .selectFrom("ledger.wallets")
          .where("organization_id", "=", organizationId)
          .selectAll()
          .executeTakeFirst()
      const found = await find()
      if (!found?.next_expiry_at || found.next_expiry_at > now) return found
      await sql`SELECT ledger.lock_wallet(${organizationId}::uuid, ${now}::timestamptz)`.execute(db)
      return find()
    },

    /** Sums of what was ever added, by kind. */
    async added(organizationId: string): Promise<{ granted: number; purchased: number }> {
      const rows = await db
        .selectFrom("ledger.lots")
        .select(["kind", eb => eb.fn.sum<number>("amount_micros").as("amount")])
        .where("organization_id", "=", organizationId)
        .groupBy("kind")
        .execute()
      const of = (kind: string) => Number(rows.find(row => row.kind === kind)?.amount ?? 0)
      return { granted: of("promotional"), purchased: of("paid") }
    },

    /** What expires next, and how much of it is left. */
    nextExpiry: (organizationId: string) =>
      db
        .selectFrom("ledger.lots")
        .select(["expires_at", "left_micros"])
        .where("organization_id", "=", organizationId)
        .where("left_micros", ">", 0)
        .where("expires_at", "is not", null)
        .orderBy("expires_at")
        .orderBy("id")
        .executeTakeFirst(),

    /** Newest first. */
    transfers: (organizationId: string, slice: Slice, types?: readonly string[]) =>
      listRows(
        transfers(organizationId)
          .$if(types !== undefined, query => query.where("type", "in", types ?? []))
          .orderBy("sequence", "desc"),
        slice,
      ),

    async limit(organizationId: string, limits: WalletLimits, now: Date): Promise<void> {
      await sql`SELECT ledger.lock_wallet(${organizationId}::uuid, ${now}::timestamptz)`.execute(db)
      await db
        .updateTable("ledger.wallets")
        .set({ ...limits, updated_at: now })
        .where("organization_id", "=", organizationId)
        .execute()
    },
  }
}
export type LedgerStore = ReturnType<typeof ledgerStore>
