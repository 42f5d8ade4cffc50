/**
 * The money of organizations, in millionths of the installation's currency, as integers. Everything that moves money names a
 * reference, and moves it once however often it is asked for.
 */
import { sql } from "kysely"
import { findInstallationOrganization } from "../../core/organizations/installation.ts"
import { createBatcher } from "../../kernel/batcher.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import { type LedgerStore, ledgerStore } from "./store.ts"

/** `credit`: pays from credit. `legacy`: use is measured, and nothing is refused for want of credit. */
export type BillingMode = "credit" | "legacy"

export interface HoldAsk {
  readonly organizationId: string
  /** Names the charge, for ever. */
  readonly reference: string
  /** With less the thing is not worth doing. */
  readonly leastMicros: number
  readonly mostMicros: number
  /** Charged where the hold is never ended, because its process died. */
  readonly owedMicros: number
  readonly description: string
  /** After that the hold ends by itself. */
  readonly lastsMs: number
}

export interface Hold {
  readonly grantedMicros: number
  /** Ends it: the cost is charged and the rest is free again. The first call counts. */
  post(costMicros: number): void
  /** Ends it, and nothing is charged. */
  void(): void
}

export interface Charge {
  readonly organizationId: string
  readonly reference: string
  readonly amountMicros: number
  /** Takes as much as there is; otherwise all or nothing. */
  readonly isPartial: boolean
  readonly description: string
}

export interface NewCredit {
  readonly organizationId: string
  readonly reference: string
  readonly kind: "paid" | "promotional"
  readonly amountMicros: number
  readonly expiresAt: Date | null
  readonly description: string
}

export type ChargeResult =
  | { readonly chargedMicros: number; readonly refusal: null }
  | { readonly chargedMicros: 0; readonly refusal: "credit" | "cap" }

export interface Ledger {
  readonly currency: string
  /** Of all organizations but the one that runs the installation. */
  readonly mode: BillingMode
  /** The most that an organization may owe. */
  readonly overageMaxMicros: number
  modeOf(organizationId: string): Promise<BillingMode>
  /** Throws `credits_exhausted`, `spending_cap_reached`, and `service_unavailable` where the ledger cannot be asked. */
  hold(ask: HoldAsk): Promise<Hold>
  /** On the caller's transaction, as all that follow. */
  charge(db: Db, charge: Charge, now: Date): Promise<ChargeResult>
  /** Adds credit; what is owed is paid from it first. False where the reference has done so before. */
  addCredit(db: Db, credit: NewCredit, now: Date): Promise<boolean>
  /** A payment for something that is not credit. False where the reference has done so before. */
  sell(db: Db, sale: Omit<Charge, "isPartial">, now: Date): Promise<boolean>
  read(db: Db): LedgerStore
  /** Ends holds of dead processes, and credit whose time is over; gives how many holds. */
  expire(): Promise<number>
  /** Resolves when everything posted is stored. */
  settled(): Promise<void>
}

const ITEMS_MAX = 500
const AT_ONCE_MAX = 2
const RETRY_MS = 5_000
const EXPIRED_AT_ONCE = 1_000

interface Granted {
  readonly n: number
  readonly granted: number
  readonly refusal: "credit" | "cap" | null
}

interface Ended {
  readonly organizationId: string
  readonly reference: string
  readonly costMicros: number
}

export interface LedgerNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly mode: BillingMode
  readonly currency: string
  readonly overageMax: number
}

const fulfilled = <Value>(value: Value): PromiseSettledResult<Value> => ({ status: "fulfilled", value })

/** Holds of all organizations, so many in one statement; and the end of them, tried until it is stored. */
const createHolds = ({ db, clock, log }: LedgerNeeds) => {
  /** Ended here and not stored yet. */
  const unsettled = new Set<Promise<void>>()
  let failed: Ended[] = []

  const holdAll = createBatcher<HoldAsk, Granted | undefined>({
    itemsMax: ITEMS_MAX,
    atOnceMax: AT_ONCE_MAX,
    async perform(items) {
      const lastsMs = Math.max(...items.map(item => item.lastsMs))
      const { rows } = await sql<Granted>`
        SELECT * FROM ledger.hold(
          ${items.map(item => item.organizationId)}::uuid[], ${items.map(item => item.reference)}::text[],
          ${items.map(item => item.leastMicros)}::bigint[], ${items.map(item => item.mostMicros)}::bigint[],
          ${items.map(item => item.owedMicros)}::bigint[], ${items.map(item => item.description)}::text[],
          ${new Date(clock.now())}::timestamptz, ${new Date(clock.now() + lastsMs)}::timestamptz)`.execute(db)
      const byPosition = new Map(rows.map(row => [row.n, row]))
      return items.map((_, at) => fulfilled(byPosition.get(at + 1)))
    },
  })

  const postAll = createBatcher<Ended, void>({
    itemsMax: ITEMS_MAX,
    atOnceMax: AT_ONCE_MAX,
    async perform(items) {
      const { rows } = await sql<{ n: number; charged: number }>`
        SELECT * FROM ledger.post(
          ${items.map(item => item.organizationId)}::uuid[], ${items.map(item => item.reference)}::text[],
          ${items.map(item => item.costMicros)}::bigint[], ${items.map(() => null)}::text[],
          ${new Date(clock.now())}::timestamptz)`.execute(db)
      for (const { n, charged } of rows) {
        const { reference, costMicros } = items[n - 1] ?? { costMicros: 0 }
        if (charged < costMicros)
          log.warn({ reference, costMicros, charged }, "a cost was not charged in full")
      }
      return items.map(() => fulfilled(undefined))
    },
  })

  const end = (ended: Ended): void => {
    const storing = postAll(ended)
      .catch(error => {
        // The hold still stands, so nothing is spent twice meanwhile.
        failed.push(ended)
        log.warn({ err: error }, "a charge was not stored, and will be tried again")
      })
      .finally(() => unsettled.delete(storing))
    unsettled.add(storing)
  }

  const retry = every(clock, RETRY_MS, () => {
    const again = failed
    failed = []
    for (const ended of again) end(ended)
  })

  return {
    async hold(ask: HoldAsk): Promise<Hold> {
      const { organizationId, reference } = ask
      const answer = await holdAll(ask).catch(error => {
        throw fault("service_unavailable", { reason: "the ledger cannot be asked" }, { internal: error })
      })
      if (!answer) throw new Error("a hold has no answer")
      if (answer.refusal === "cap") throw fault("spending_cap_reached")
      if (answer.refusal === "credit") throw fault("credits_exhausted")
      let isOpen = true
      const close = (costMicros: number) => {
        if (!isOpen) return
        isOpen = false
        end({ organizationId, reference, costMicros })
      }
      return { grantedMicros: answer.granted, post: close, void: () => close(0) }
    },
    async settled() {
      await Promise.all(unsettled)
    },
    [Symbol.dispose]: () => retry[Symbol.dispose](),
  }
}

const charge: Ledger["charge"] = async (db, { organizationId, reference, ...asked }, now) => {
  const { amountMicros, isPartial, description } = asked
  const { rows } = await sql<{ charged: number; refusal: "credit" | "cap" | null }>`
    SELECT * FROM ledger.charge(${organizationId}::uuid, ${reference}, ${amountMicros}::bigint, ${isPartial},
      ${description}, ${now}::timestamptz)`.execute(db)
  const { charged = 0, refusal = null } = rows[0] ?? {}
  return refusal === null ? { chargedMicros: charged, refusal } : { chargedMicros: 0, refusal }
}

const addCredit: Ledger["addCredit"] = async (db, credit, now) => {
  const { rows } = await sql<{ added: boolean }>`
    SELECT ledger.add(${credit.organizationId}::uuid, ${credit.reference}, ${newId(now.getTime())}::uuid, ${credit.kind},
      ${credit.amountMicros}::bigint, ${credit.expiresAt}::timestamptz, ${credit.description}, ${now}::timestamptz)
      AS added`.execute(db)
  return rows[0]?.added === true
}

const sell: Ledger["sell"] = async (db, { organizationId, reference, amountMicros, description }, now) => {
  const { rows } = await sql<{ sold: boolean }>`
    SELECT ledger.sell(${organizationId}::uuid, ${reference}, ${amountMicros}::bigint, ${description}, ${now}::timestamptz)
      AS sold`.execute(db)
  return rows[0]?.sold === true
}

export const createLedger = (needs: LedgerNeeds): Ledger & Disposable => {
  const { db, clock, mode, currency, overageMax } = needs
  const holds = createHolds(needs)
  let installationOrganization: string | undefined

  return {
    currency,
    mode,
    overageMaxMicros: overageMax,
    async modeOf(organizationId) {
      if (mode === "legacy") return mode
      // The first organization stays the first.
      installationOrganization ??= await findInstallationOrganization(db)
      return organizationId === installationOrganization ? "legacy" : mode
    },
    hold: holds.hold,
    charge,
    addCredit,
    sell,
    read: ledgerStore,
    async expire() {
      const { rows } = await sql<{ expired: number }>`
        SELECT ledger.expire(${new Date(clock.now())}::timestamptz, ${EXPIRED_AT_ONCE}::integer) AS expired`.execute(
        db,
      )
      return rows[0]?.expired ?? 0
    },
    settled: holds.settled,
    [Symbol.dispose]: holds[Symbol.dispose],
  }
}
