/** The ledger alone, over a database of its own. */
import type { TestContext } from "node:test"
import { type Database, openDatabase } from "../../../kernel/db/database.ts"
import { newId } from "../../../kernel/id.ts"
import { createLog } from "../../../kernel/log.ts"
import { createTestClock } from "../../../testing/clock.ts"
import { cloneDatabase } from "../../../testing/database.ts"
import { createLedger } from "../ledger.ts"

const CONNECTIONS = 4

/** Processes share the database, and so the money. */
export const openLedger = (connectionString: string, clock = createTestClock()) => {
  const database = openDatabase({ connectionString, connectionsMax: CONNECTIONS, onError: () => undefined })
  const log = createLog("silent")
  const facts = { mode: "credit", currency: "USD", overageMax: 1_000_000 } as const
  const ledger = createLedger({ db: database.db, clock, log, ...facts })
  return {
    ...{ database, clock, ledger },
    async [Symbol.asyncDispose]() {
      await ledger.settled()
      ledger[Symbol.dispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}
export type LedgerProcess = ReturnType<typeof openLedger>

export const ledgerWorld = async (t: TestContext, processes = 1) => {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const { url } = stack.use(await cloneDatabase())
  const clock = createTestClock()
  const opened = Array.from({ length: processes }, () => stack.use(openLedger(url, clock)))
  const [first] = opened
  if (!first) throw new Error("a world has a process")
  return { ...first, processes: opened, url, organizationId: newId() }
}

interface Balances {
  readonly [account: string]: number
}

/** Balances by the transfers alone, in SQL that shares nothing with the ledger's own. */
export const recomputed = async ({ pool }: Database, organizationId: string): Promise<Balances> => {
  const { rows } = await pool.query<{ account: string; balance: number }>(
    `SELECT account, sum(amount)::bigint AS balance FROM (
       SELECT debit_account AS account, -amount_micros AS amount FROM ledger.transfers WHERE organization_id = $1
       UNION ALL
       SELECT credit_account, amount_micros FROM ledger.transfers WHERE organization_id = $1
     ) AS sides GROUP BY account HAVING sum(amount) <> 0`,
    [organizationId],
  )
  return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
}

/** Balances as the ledger keeps them. */
export const kept = async ({ pool }: Database, organizationId: string): Promise<Balances> => {
  const { rows } = await pool.query<{ account: string; balance_micros: number }>(
    "SELECT account, balance_micros FROM ledger.accounts WHERE organization_id = $1 AND balance_micros <> 0",
    [organizationId],
  )
  return Object.fromEntries(rows.map(row => [row.account, row.balance_micros]))
}

/** What holds, pending amounts and credit by source come to. */
export const pending = async ({ pool }: Database, organizationId: string) => {
  const { rows } = await pool.query<{ held: number; holds: number; lots: number; credit: number }>(
    `SELECT coalesce(w.held_micros + w.held_overage_micros, 0) AS held,
       (SELECT coalesce(sum(credit_micros + overage_micros), 0)::bigint FROM ledger.holds h WHERE h.organization_id = $1) AS holds,
       (SELECT coalesce(sum(left_micros), 0)::bigint FROM ledger.lots l WHERE l.organization_id = $1) AS lots,
       coalesce(w.credit_micros, 0) AS credit
     FROM (SELECT $1::uuid AS id) AS o LEFT JOIN ledger.wallets w ON w.organization_id = o.id`,
    [organizationId],
  )
  return rows[0] ?? { held: 0, holds: 0, lots: 0, credit: 0 }
}
