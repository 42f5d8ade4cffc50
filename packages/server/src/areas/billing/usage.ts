import { meters, type PlanName } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import type { UsePrices } from "./offers.ts"
import { costOf, type Metered, type PriceList, priceUse } from "./price-list.ts"
import { DAY_MS } from "./rules.ts"
import { billingStore } from "./store.ts"

export type MetricCost = Metered & { readonly price: PriceList["meters"][number] }

/** What each priced meter costs in a month. A level is stored as its share of each day: its month is the average of the days. */
export const monthCosts = async (
  db: Db,
  prices: PriceList,
  organization: { readonly id: string; readonly plan: PlanName },
  { start, end }: { readonly start: Date; readonly end: Date },
): Promise<MetricCost[]> => {
  const used = await billingStore(db).usage(organization.id, start, end)
  const days = (end.getTime() - start.getTime()) / DAY_MS
  return prices.meters.map(price => {
    const sum = used.get(price.metric) ?? 0
    const quantity = meters[price.metric].kind === "level" ? sum / days : sum
    return { price, ...priceUse(price, organization.plan, quantity) }
  })
}

export const createUsePrices = (prices: PriceList): UsePrices => {
  const byMetric = new Map(prices.meters.map(price => [price.metric, price]))
  return {
    hasPrices: byMetric.size > 0,

    costOf(metric, quantity) {
      const price = byMetric.get(metric)
      return price ? costOf(quantity, price) : null
    },

    async costsOf(db, organization, month) {
      const costs = await monthCosts(db, prices, organization, month)
      return new Map(costs.map(({ price, costMicros }) => [price.metric, costMicros]))
    },
  }
}
