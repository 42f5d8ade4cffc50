/** Prices: those of the contract, and over them the operator's file. */
import { readFileSync } from "node:fs"
import {
  type Meter,
  type MeterPrice,
  meterNames,
  meterPrices,
  meters,
  type PlanName,
  type PlanPrice,
  planNames,
  planPrices,
  plans,
  T,
} from "@svc/contract"
import { fileProblem } from "../../kernel/validation.ts"

const PRICE_MAX = 1_000_000_000_000
const Price = T.Integer({ minimum: 0, maximum: PRICE_MAX })
const Nullable = (schema: typeof Price) => T.Union([schema, T.Null()])

const FilePrices = T.Object(
  {
    meters: T.Optional(
      T.Partial(
        T.Object(
          Object.fromEntries(
            meterNames.map(name => [
              name,
              T.Union([
                T.Object(
                  { micros: Price, per: T.Integer({ minimum: 1, maximum: PRICE_MAX }) },
                  { additionalProperties: false },
                ),
                T.Null(),
              ]),
            ]),
          ),
          { additionalProperties: false },
        ),
      ),
    ),
    plans: T.Optional(
      T.Partial(
        T.Object(
          Object.fromEntries(
            planNames.map(name => [
              name,
              T.Object(
                { month_micros: Nullable(Price), year_micros: Nullable(Price) },
                { additionalProperties: false },
              ),
            ]),
          ),
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false },
)

interface GivenPrices {
  readonly meters?: { readonly [Name in Meter]?: { readonly micros: number; readonly per: number } | null }
  readonly plans?: { readonly [Name in PlanName]?: PlanPrice }
}

export interface PriceList {
  readonly meters: readonly (MeterPrice & { readonly metric: Meter; readonly unit: string })[]
  readonly plans: Readonly<Record<PlanName, PlanPrice>>
}

const listOf = (given: GivenPrices): PriceList => ({
  meters: meterNames.flatMap(metric => {
    const own = given.meters?.[metric]
    const known = meterPrices[metric]
    if (own === null || (own === undefined && known === undefined)) return []
    // A meter that only the operator's list prices has no service of its own.
    const price: MeterPrice = { service: "platform", micros: 0, per: 1, ...known, ...own }
    return { ...price, metric, unit: meters[metric].unit }
  }),
  plans: { ...planPrices, ...given.plans },
})

export const priceListFile = (path: string | undefined): PriceList => {
  if (path === undefined) return listOf({})
  let given: unknown
  try {
    given = JSON.parse(readFileSync(path, "utf8"))
  } catch (error) {
    throw new RangeError(`must name a file of JSON: ${(error as Error).message}`)
  }
  const problem = fileProblem(FilePrices, given)
  if (problem !== undefined) throw new RangeError(`must name a list of prices: ${problem}`)
  return listOf(given as GivenPrices)
}

/** Units have six digits: what is counted in fractions, such as hours, is an integer then. */
const SCALE = 1_000_000

/** Rounded half up, to the millionth. */
export const costOf = (units: number, { micros, per }: Pick<MeterPrice, "micros" | "per">): number => {
  const divisor = BigInt(per) * BigInt(SCALE)
  const product = BigInt(Math.round(units * SCALE)) * BigInt(micros)
  return Number((product * 2n + divisor) / (divisor * 2n))
}

export interface Metered {
  readonly quantity: number
  /** Null: all. */
  readonly included: number | null
  readonly overage: number
  readonly costMicros: number
}

/** What a month's use of a meter costs on that plan. */
export const priceUse = (price: MeterPrice, plan: PlanName, quantity: number): Metered => {
  const included = price.included === undefined ? 0 : plans[plan].included[price.included]
  const overage = included === null ? 0 : Math.max(quantity - included, 0)
  return { quantity, included, overage, costMicros: costOf(overage, price) }
}
