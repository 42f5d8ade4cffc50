/**
 * Money before words: what a request can cost at most is reserved before it is sent, and settled once by what it did cost.
 * `paid-ledger.ts` puts the credit of organizations behind the same interface.
 */

import { sql } from "kysely"
import { createBatcher } from "../../kernel/batcher.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"

export interface Ask {
  readonly organizationId: string
  /** Whether the installation pays the vendor, so that the organization pays the installation. */
  readonly isCharged: boolean
  /** Requests a day; null: any number. */
  readonly dailyMax: number | null
  /** What is owed even where the caller goes away before the first word. */
  readonly inputNanos: number
  /** With less the request is not worth sending. */
  readonly leastNanos: number
  readonly mostNanos: number
}

export interface Reservation {
  readonly grantedNanos: number
  /** Whether the organization has a limit that the request must stay below. */
  readonly isLimited: boolean
  /** Ends it by what the request cost. The first call counts. */
  settle(costNanos: number): void
  /** It was served by an upstream of the organization's own, which it pays itself. */
  isOwn(): void
  /** Ends it as if there had been no request. */
  release(): void
}

export interface AiLedger {
  /** Throws `ai_budget_exhausted`, `ai_daily_limit_exceeded`, and `service_unavailable` where the counters cannot be asked. */
  reserve(ask: Ask): Promise<Reservation>
  /** Ends reservations of dead processes; gives how many. */
  expire(): Promise<number>
  /** Resolves when everything settled is stored. */
  settled(): Promise<void>
}

/** Longer than any request lasts. */
export const RESERVATION_MS = 11 * 60_000
const ITEMS_MAX = 500
const AT_ONCE_MAX = 2
const RETRY_MS = 5_000
const EXPIRED_AT_ONCE = 1_000
const DAY_MS = 86_400_000

interface Granted {
  readonly reservation_id: string
  readonly granted: number
  readonly is_limited: boolean
  readonly refusal: "daily" | "budget" | null
}

interface Ended {
  readonly id: string
  readonly organizationId: string
  readonly costNanos: number
  readonly isUncounted: boolean
}

const fulfilled = <Value>(value: Value): PromiseSettledResult<Value> => ({ status: "fulfilled", value })

const refuse = (refusal: Granted["refusal"], { dailyMax }: Ask, nowMs: number): void => {
  if (refusal === "budget") throw fault("ai_budget_exhausted")
  if (refusal !== "daily") return
  const seconds = Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1000)
  const headers = { "retry-after": String(seconds), "x-should-retry": "false" }
  throw fault("ai_daily_limit_exceeded", { limit: dailyMax ?? 0 }, { headers })
}

export const createLedger = (needs: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}): AiLedger & Disposable => {
  const { db, clock, log } = needs
  const now = () => new Date(clock.now())
  /** Settled here and not stored yet. */
  const unsettled = new Set<Promise<void>>()
  let failed: Ended[] = []

  const reserveAll = createBatcher<{ id: string; ask: Ask }, Granted | undefined>({
    itemsMax: ITEMS_MAX,
    atOnceMax: AT_ONCE_MAX,
    async perform(items) {
      const asks = items.map(({ ask }) => ask)
      const { rows } = await sql<Granted>`
        SELECT * FROM ai.reserve(
          ${items.map(({ id }) => id)}::uuid[], ${asks.map(ask => ask.organizationId)}::uuid[],
          ${asks.map(ask => ask.inputNanos)}::bigint[], ${asks.map(ask => ask.leastNanos)}::bigint[],
          ${asks.map(ask => ask.mostNanos)}::bigint[], ${asks.map(ask => ask.dailyMax)}::bigint[],
          ${now()}::timestamptz, ${new Date(clock.now() + RESERVATION_MS)}::timestamptz)`.execute(db)
      const byId = new Map(rows.map(row => [row.reservation_id, row]))
      return items.map(({ id }) => fulfilled(byId.get(id)))
    },
  })

  const settleAll = createBatcher<Ended, void>({
    itemsMax: ITEMS_MAX,
    atOnceMax: AT_ONCE_MAX,
    async perform(items) {
      const { rows } = await sql<{ expired_id: string }>`
        SELECT * FROM ai.settle(
          ${items.map(({ id }) => id)}::uuid[], ${items.map(({ organizationId }) => organizationId)}::uuid[],
          ${items.map(({ costNanos }) => costNanos)}::bigint[],
          ${items.map(({ isUncounted }) => isUncounted)}::boolean[], ${now()}::timestamptz)`.execute(db)
      for (const { expired_id } of rows)
        log.warn({ reservation: expired_id }, "AI reservation settled after its expiry")
      return items.map(() => fulfilled(undefined))
    },
  })

  const end = (ended: Ended): void => {
    const storing = settleAll(ended)
      .catch(error => {
        // The reservation still stands, so nothing is spent twice meanwhile.
        failed.push(ended)
        log.warn({ err: error }, "AI cost was not stored, and will be tried again")
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
    async reserve(ask) {
      const id = newId(clock.now())
      const granted = await reserveAll({ id, ask }).catch(error => {
        throw fault("service_unavailable", { reason: "the AI budget cannot be asked" }, { internal: error })
      })
      if (!granted) throw new Error("a reservation has no answer")
      refuse(granted.refusal, ask, clock.now())
      let isOpen = true
      const close = (costNanos: number, isUncounted: boolean) => {
        if (!isOpen) return
        isOpen = false
        // Free and counted: the reservation left no trace that would have to go.
        if (granted.granted > 0 || costNanos > 0 || isUncounted)
          end({ id, organizationId: ask.organizationId, costNanos, isUncounted })
      }
      return {
        grantedNanos: granted.granted,
        isLimited: granted.is_limited,
        settle: costNanos => close(costNanos, false),
        isOwn: () => undefined,
        release: () => close(0, true),
      }
    },

    async expire() {
      const { rows } = await sql<{ expire: number }>`
        SELECT ai.expire(${now()}::timestamptz, ${EXPIRED_AT_ONCE}::integer)`.execute(db)
      return rows[0]?.expire ?? 0
    },

    async settled() {
      await Promise.all(unsettled)
    },

    [Symbol.dispose]: () => retry[Symbol.dispose](),
  }
}
