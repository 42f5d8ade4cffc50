/** What other areas may ask of this one: types and tokens alone. */
import type { Meter, PlanName } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { offerToken } from "../../kernel/token.ts"

/** Prices of what meters count, all in millionths of the installation's currency. */
export interface UsePrices {
  /** Whether anything has a price; an operator's list can take all away. */
  readonly hasPrices: boolean
  /** What a quantity costs by itself, with nothing included; null where the meter has no price. */
  costOf(metric: Meter, quantity: number): number | null
  /** What an organization's use of a month costs beyond what its plan includes, by meter with a price. */
  costsOf(
    db: Db,
    organization: { readonly id: string; readonly plan: PlanName },
    month: { readonly start: Date; readonly end: Date },
  ): Promise<ReadonlyMap<Meter, number>>
}

export const usePrices = offerToken<UsePrices>("usePrices")
