import { meters, type PlanName } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { type Metered, type PriceList, priceUse } from "./price-list.ts"
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
