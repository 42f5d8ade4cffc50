/** Charges metered use to the credit as it happens: of organizations that pay by credit, and of services with autodebit. */
import type { PlanName } from "@svc/contract"
import type { Database, Db } from "../../kernel/db/database.ts"
import type { Ledger } from "../../services/ledger/ledger.ts"
import { agreementStore } from "./agreement-store.ts"
import type { PriceList } from "./price-list.ts"
import { DAY_MS, monthOf } from "./rules.ts"
import { monthCosts } from "./usage.ts"

export const INFRASTRUCTURE = "infrastructure"
const OF_INFRASTRUCTURE: ReadonlySet<string> = new Set([
  ...["network", "databases", "storage", "build", "services", "compute"],
])
/** Use of a month that ended may come in this late. */
const LATE_MS = DAY_MS

export const coveredBy = (module: string, service: string): boolean =>
  module === service || (module === INFRASTRUCTURE && OF_INFRASTRUCTURE.has(service))

export interface ChargingNeeds {
  readonly database: Database
  readonly ledger: Ledger
  readonly prices: PriceList
  readonly mode: "credit" | "legacy"
}

interface Payer {
  readonly id: string
  readonly plan: PlanName
}

export const createCharging = ({ database, ledger, prices, mode }: ChargingNeeds) => {
  /** Charges what a meter costs by now beyond what is charged already. What there is no credit for waits for some. */
  const chargeMeter = async (
    { id: organizationId }: Payer,
    month: Date,
    metric: string,
    costMicros: number,
    now: Date,
  ) =>
    database.transaction(async tx => {
      const store = agreementStore(tx)
      const charged = await store.lockCharged(organizationId, month, metric)
      const amountMicros = costMicros - charged
      if (amountMicros <= 0) return
      const name = month.toISOString().slice(0, 7)
      const reference = `usage:${name}:${metric}:${charged}`
      const charge = {
        organizationId,
        reference,
        amountMicros,
        isPartial: true,
        description: `${metric}, ${name}`,
      }
      const { chargedMicros } = await ledger.charge(tx, charge, now)
      if (chargedMicros > 0) await store.setCharged(organizationId, month, metric, charged + chargedMicros)
    })

  const chargeMonth = async (payer: Payer, at: Date, now: Date) => {
    const isPayer = (await ledger.modeOf(payer.id)) === "credit"
    const agreements = await agreementStore(database.db).list(payer.id)
    const modules = agreements.flatMap(({ module, autodebit_since }) => (autodebit_since ? module : []))
    const period = monthOf(at)
    for (const { price, costMicros } of await monthCosts(database.db, prices, payer, period)) {
      const isCovered = isPayer || modules.some(module => coveredBy(module, price.service))
      if (isCovered && costMicros > 0) await chargeMeter(payer, period.start, price.metric, costMicros, now)
    }
  }

  return {
    /** What a service cost this month before it is charged as it happens, so that it is not charged afterwards. */
    async forgive(db: Db, payer: Payer, module: string, now: Date): Promise<void> {
      const period = monthOf(now)
      for (const { price, costMicros } of await monthCosts(db, prices, payer, period)) {
        if (!coveredBy(module, price.service)) continue
        const charged = await agreementStore(db).lockCharged(payer.id, period.start, price.metric)
        if (costMicros > charged)
          await agreementStore(db).setCharged(payer.id, period.start, price.metric, costMicros)
      }
    },

    async run(now: Date): Promise<void> {
      const before = new Date(now.getTime() - LATE_MS)
      const months = monthOf(before).start < monthOf(now).start ? [before, now] : [now]
      for (const at of months) {
        const payers = await agreementStore(database.db).toCharge(monthOf(at).start, mode === "credit")
        for (const payer of payers) await chargeMonth({ id: payer.id, plan: payer.plan as PlanName }, at, now)
      }
    },
  }
}
export type Charging = ReturnType<typeof createCharging>
