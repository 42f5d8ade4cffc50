/** What stored counts mean: pure functions of numbers and days. */
import {
  type IncludedQuotas,
  type Meter,
  meterNames,
  meterServices,
  meters,
  type PlanName,
  plans,
} from "@svc/contract"
import type { Days } from "../../core/meters/store.ts"

const DAY_MS = 86_400_000

export const timeOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`)

export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** How many days of a period have passed, as a fraction; at least one hour, so that the first moments divide by something. */
export const elapsedDays = ({ from, to }: Days, now: Date): number => {
  const end = Math.min(now.getTime(), timeOf(to))
  return Math.max((end - timeOf(from)) / DAY_MS, 1 / 24)
}

/** A level is stored as the average of each day: the average of a period is their sum by its days. */
export const usedOf = (metric: Meter, metrics: ReadonlyMap<string, number>, days: number): number => {
  const quantity = metrics.get(metric) ?? 0
  return meters[metric].kind === "level" ? quantity / days : quantity
}

const includedOf = (plan: PlanName, metric: Meter): number | null => {
  const included: IncludedQuotas = plans[plan].included
  return metric in included ? included[metric as keyof IncludedQuotas] : null
}

export const allowanceOf = (used: number, allowance: number | null) => ({
  used,
  allowance,
  remaining: allowance === null ? null : Math.max(allowance - used, 0),
})

/** A row for every meter, beside the requests, which are told by themselves. */
export const servicesOf = (plan: PlanName, metrics: ReadonlyMap<string, number>, days: number) =>
  meterNames
    .filter(metric => meterServices[metric] !== "api")
    .map(metric => {
      const used = usedOf(metric, metrics, days)
      const included = includedOf(plan, metric)
      return {
        ...{ service: meterServices[metric], metric, unit: meters[metric].unit, used, included },
        remaining: included === null ? null : Math.max(included - used, 0),
        overage: included === null ? 0 : Math.max(used - included, 0),
      }
    })

interface Counted {
  readonly requests: number
  readonly errors: number
}

export const sumOf = (counts: readonly Counted[]): Counted => ({
  requests: counts.reduce((sum, { requests }) => sum + requests, 0),
  errors: counts.reduce((sum, { errors }) => sum + errors, 0),
})

interface KeyRequests {
  readonly day: string
  readonly area: string
  readonly status: number
  readonly requests: number
}

const toCounted = ({ status, requests }: KeyRequests): Counted => ({
  requests,
  errors: status >= 400 ? requests : 0,
})

/** Sums by one field of the rows, in the order of its values. */
export const groupedBy = <Name extends "day" | "area">(rows: readonly KeyRequests[], name: Name) =>
  [...Map.groupBy(rows, row => row[name])]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([value, group]) => ({ value, ...sumOf(group.map(toCounted)) }))

export const statusesOf = (rows: readonly KeyRequests[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status, requests } of rows) counts[status] = (counts[status] ?? 0) + requests
  return counts
}
