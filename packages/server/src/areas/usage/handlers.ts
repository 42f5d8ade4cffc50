import {
  areas,
  type Input,
  isMeter,
  type KeyType,
  meters,
  pageOf,
  plans,
  USAGE_EXPORT_DAYS_MAX,
} from "@svc/contract"
import { statusOf } from "../../core/keys/rules.ts"
import { type KeyRecord, keyStore } from "../../core/keys/store.ts"
import { type Days, monthOf, usageStore } from "../../core/meters/store.ts"
import type { Call } from "../../kernel/call.ts"
import { CSV_TYPE } from "../../kernel/csv.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { UsePrices } from "../billing/offers.ts"
import { exportRows } from "./exporting.ts"
import {
  allowanceOf,
  dayOf,
  elapsedDays,
  groupedBy,
  servicesOf,
  statusesOf,
  sumOf,
  timeOf,
  usedOf,
} from "./rules.ts"

const DAY_MS = 86_400_000

const daysOf = (month: string | undefined, now: Date): Days => monthOf(month ? new Date(`${month}-01`) : now)

const periodOf = ({ from, to }: Days) => ({
  start: new Date(timeOf(from)).toISOString(),
  end: new Date(timeOf(to)).toISOString(),
})

/** The projects whose keys a caller sees; null: those of the whole organization. */
const reachOf = ({ principal }: Call): ReadonlySet<string> | null =>
  principal.projectIds ??
  (principal.project && !principal.organizationReach ? new Set([principal.project.id]) : null)

interface AreaRequests {
  readonly area: string
  readonly requests: number
  readonly errors: number
}

const toKey = (row: KeyRecord, areaRequests: readonly AreaRequests[], now: Date) => ({
  ...{ key_id: row.id, name: row.name, prefix: row.prefix, type: row.type as KeyType },
  status: statusOf(row, now),
  project_id: row.project_id,
  ...sumOf(areaRequests),
  last_used_at: toIso(row.last_used_at),
  by_service: areaRequests.map(({ area, requests, errors }) => ({ service: area, requests, errors })),
})

const rangeOf = ({ from, to }: { from?: string; to?: string }, now: Date): Days => {
  const first = from ?? monthOf(now).from
  const last = to ?? dayOf(now.getTime())
  const [start, end] = [timeOf(first), timeOf(last) + DAY_MS]
  if (Number.isNaN(start) || Number.isNaN(end)) throw fault("invalid_parameter", { reason: "not a day" })
  if (end <= start) throw fault("invalid_parameter", { reason: "`to` is before `from`" })
  if (end - start > USAGE_EXPORT_DAYS_MAX * DAY_MS)
    throw fault("invalid_parameter", { reason: `more than ${USAGE_EXPORT_DAYS_MAX} days` })
  return { from: first, to: dayOf(end) }
}

const readKey = async (
  { key_id, month, costs }: Input<(typeof areas.usage.specs)["key"]>,
  call: Call,
  usePrices: Offer<UsePrices>,
) => {
  const { db, now, organization } = call
  const key = await keyStore(db).find(organization.id, key_id)
  const reach = reachOf(call)
  if (!key || (reach && !reach.has(key.project_id ?? ""))) throw fault("key_not_found", { id: key_id })
  // A key that asks for no prices does not load billing.
  const prices = costs ? await provided(usePrices) : undefined
  if (prices && !prices.hasPrices) throw fault("billing_not_configured")
  const days = daysOf(month, now)
  const store = usageStore(db)
  const rows = await store.requestsOfKey(organization.id, key_id, days)
  const metrics = await store.metricsOfKey(organization.id, key_id, days)
  const byArea = groupedBy(rows, "area").map(({ value, ...counts }) => ({ area: value, ...counts }))
  return {
    period: periodOf(days),
    ...toKey(key, byArea, now),
    by_day: groupedBy(rows, "day").map(({ value, ...counts }) => ({ day: value, ...counts })),
    by_status: statusesOf(rows),
    metrics: metrics.flatMap(({ metric, quantity }) =>
      isMeter(metric)
        ? [
            {
              ...{ metric, unit: meters[metric].unit, used: quantity },
              ...(prices ? { cost_micros: prices.costOf(metric, quantity) } : {}),
            },
          ]
        : [],
    ),
  }
}

const readKeys = async (input: Input<(typeof areas.usage.specs)["keys"]>, call: Call) => {
  const { db, now, organization } = call
  const days = daysOf(input.month, now)
  const projectIds = reachOf(call)
  const { rows, total } = await keyStore(db).list(organization.id, { projectIds, now, ...pageOf(input) })
  const ids = rows.map(({ id }) => id)
  const byKey = Map.groupBy(
    await usageStore(db).requestsByArea(organization.id, days, ids),
    ({ key_id }) => key_id,
  )
  return {
    period: periodOf(days),
    keys: rows.map(row => toKey(row, byKey.get(row.id) ?? [], now)),
    ...{ total, ...pageOf(input) },
  }
}

interface Given {
  readonly database: Database
  readonly usePrices: Offer<UsePrices>
}

export const usageHandlers = implement(areas.usage, ({ database, usePrices }: Given) => ({
  async summary({ month }, { db, now, organization: { id, plan } }) {
    const days = daysOf(month, now)
    const metrics = await usageStore(db).metricsOfDays(id, days)
    const period = { start: new Date(timeOf(days.from)), end: new Date(timeOf(days.to)) }
    const costs = await (await provided(usePrices)).costsOf(db, { id, plan }, period)
    return {
      ...{ organization_id: id, plan, period: periodOf(days) },
      requests: { total: metrics.get("requests") ?? 0, errors: metrics.get("request_errors") ?? 0 },
      services: servicesOf(plan, metrics, elapsedDays(days, now)).map(service => ({
        ...service,
        cost_micros: costs.get(service.metric) ?? null,
      })),
    }
  },

  keys: readKeys,
  key: (input, call) => readKey(input, call, usePrices),

  export(input, call) {
    const days = rangeOf(input, call.now)
    const format = input.format ?? "csv"
    call.setHeader("content-type", format === "csv" ? CSV_TYPE : "application/x-ndjson")
    call.setHeader("content-disposition", `attachment; filename="usage-${days.from}.${format}"`)
    return exportRows(usageStore(database.db), call.organization.id, days, format)
  },

  async budget(_, { db, now, organization: { id, plan } }) {
    const days = monthOf(now)
    const store = usageStore(db)
    const metrics = await store.metricsOfMonth(id, now)
    const used = (name: keyof typeof meters) => usedOf(name, metrics, elapsedDays(days, now))
    const { included, ai_requests_per_day } = plans[plan]
    return {
      period: periodOf(days),
      ai_tokens: allowanceOf(used("ai_input_tokens") + used("ai_output_tokens"), null),
      ai_requests_today: allowanceOf(await store.ofDay(id, "ai_requests", now), ai_requests_per_day),
      storage_gb: allowanceOf(used("storage_gb"), included.storage_gb),
      compute_hours: allowanceOf(used("compute_hours"), null),
      service_hours: allowanceOf(used("service_hours"), included.service_hours),
    }
  },

  async stats(_, { db, now, organization: { id } }) {
    const days = monthOf(now)
    const store = usageStore(db)
    const metrics = await store.metricsOfMonth(id, now)
    const used = (name: keyof typeof meters) => usedOf(name, metrics, elapsedDays(days, now))
    const counted = (name: keyof typeof meters) => Math.round(used(name))
    const requests = await store.requestsByArea(id, days)
    const ofStorage = requests.filter(({ area }) => area === "storage" || area === "s3")
    return {
      period: periodOf(days),
      ai: {
        requests: counted("ai_requests"),
        input_tokens: counted("ai_input_tokens"),
        output_tokens: counted("ai_output_tokens"),
      },
      storage: { average_gb: used("storage_gb"), requests: sumOf(ofStorage).requests },
      compute: {
        hours: used("compute_hours"),
        vcpu_seconds: used("workload_vcpu_seconds"),
        memory_gb_seconds: used("workload_memory_gb_seconds"),
      },
      bandwidth: { ingress_bytes: counted("ingress_bytes"), egress_bytes: counted("egress_bytes") },
      functions: { invocations: counted("function_invocations"), gb_seconds: used("gb_seconds") },
    }
  },
}))
