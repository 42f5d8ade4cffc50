/** What things cost where the operator's own price list does not say otherwise, in millionths of the currency. */
import type { Meter } from "./meters.ts"
import type { IncludedQuotas, PlanName } from "./plans.ts"

export interface MeterPrice {
  /** Whose use it is, as catalog and agreements name it. */
  readonly service: string
  /** Millionths of the currency for `per` units. */
  readonly micros: number
  readonly per: number
  /** The quota of the plan that comes first; without one every unit is charged. */
  readonly included?: keyof IncludedQuotas
}

const GB = 1_000_000_000
const MILLION = 1_000_000

/** Models are priced by themselves, and what is not here is not charged. */
export const meterPrices: { readonly [Name in Meter]?: MeterPrice } = {
  egress_bytes: { service: "network", micros: 50_000, per: GB },
  database_hours: { service: "databases", micros: 16_000, per: 1 },
  kv_reads: { service: "kv", micros: 200_000, per: MILLION },
  kv_writes: { service: "kv", micros: 1_000_000, per: MILLION },
  encryption_ops: { service: "encryption", micros: 3_000_000, per: MILLION },
  storage_gb: { service: "storage", micros: 23_000, per: 1, included: "storage_gb" },
  vector_ops: { service: "vectors", micros: 400_000, per: MILLION, included: "vector_ops" },
  searches: { service: "search", micros: 500_000, per: MILLION },
  build_minutes: { service: "build", micros: 5_000, per: 1, included: "build_minutes" },
  service_hours: { service: "services", micros: 10_000, per: 1, included: "service_hours" },
  workload_vcpu_seconds: { service: "compute", micros: 14, per: 1 },
  workload_memory_gb_seconds: { service: "compute", micros: 4, per: 1 },
  workload_disk_gb_hours: { service: "compute", micros: 140, per: 1 },
  function_invocations: { service: "functions", micros: 200_000, per: MILLION },
  gb_seconds: { service: "functions", micros: 17, per: 1 },
  events_published: { service: "events", micros: 500_000, per: MILLION },
  deliveries: { service: "events", micros: 300_000, per: MILLION },
  email_sends: { service: "email", micros: 1_000, per: 1, included: "email_sends" },
}

export const billingIntervals = ["month", "year"] as const
export type BillingInterval = (typeof billingIntervals)[number]

/** Null: not sold, but assigned by the operator. */
export interface PlanPrice {
  readonly month_micros: number | null
  readonly year_micros: number | null
}

const dollars = (month: number): PlanPrice => ({
  month_micros: month * MILLION,
  year_micros: month * 10 * MILLION,
})

export const planPrices: Readonly<Record<PlanName, PlanPrice>> = {
  free: { month_micros: 0, year_micros: 0 },
  chat_plus: dollars(10),
  starter: dollars(19),
  pro: dollars(49),
  team: dollars(199),
  business: dollars(499),
  enterprise: { month_micros: null, year_micros: null },
}
