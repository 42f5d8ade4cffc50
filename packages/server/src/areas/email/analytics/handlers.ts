import { type areas, EMAIL_PERIOD_DAYS_DEFAULT, EMAIL_PERIOD_DAYS_MAX, plans } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { countEvents, countSends, type DayCounts, knowsTemplate, type Scope, topLinks } from "./figures.ts"
import { NO_COUNTS, ratesOf, warningsOf } from "./rates.ts"
import { reputationOf } from "./reputation.ts"

type Specs = typeof areas.email.specs
type FigureOperation = "stats" | "analyticsSummary" | "analyticsCampaign"

const DAY_MS = 86_400_000

interface PeriodInput {
  readonly since?: string
  readonly until?: string
}

const scopeOf = (call: Call, { since, until }: PeriodInput, template: string | null = null): Scope => {
  // The end is not part of a period, and what happens now shall be.
  const to = until === undefined ? new Date(call.now.getTime() + 1) : new Date(until)
  const from =
    since === undefined ? new Date(to.getTime() - EMAIL_PERIOD_DAYS_DEFAULT * DAY_MS) : new Date(since)
  // A time like 0000-01-01 lies within RFC 3339, and what is counted back from it does not.
  if (from.getTime() < 0)
    throw fault("invalid_parameter", { reason: "a period begins in 1970 at the earliest" })
  if (from >= to) throw fault("invalid_parameter", { reason: "since must be before until" })
  if (to.getTime() - from.getTime() > EMAIL_PERIOD_DAYS_MAX * DAY_MS)
    throw fault("invalid_parameter", { reason: `a period has at most ${EMAIL_PERIOD_DAYS_MAX} days` })
  return { organizationId: call.organization.id, projectId: call.project?.id ?? null, template, from, to }
}

const periodOf = ({ from, to }: Scope) => ({ from: from.toISOString(), to: to.toISOString() })

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Every day of the period, those without a mail too. */
const seriesOf = ({ from, to }: Scope, counted: readonly DayCounts[]) => {
  const byDate = new Map(counted.map(counts => [counts.date, counts]))
  const first = Math.floor(from.getTime() / DAY_MS)
  const last = Math.ceil(to.getTime() / DAY_MS)
  return Array.from({ length: last - first }, (_, at) => {
    const date = dayOf((first + at) * DAY_MS)
    return { ...NO_COUNTS, ...byDate.get(date), date }
  })
}

const totalOf = (counted: readonly DayCounts[]) => {
  const { date: _, ...total } = counted.find(({ date }) => date === null) ?? { ...NO_COUNTS, date: null }
  return total
}

const quotaOf = async (call: Call) => {
  const now = call.now
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  return {
    limit: plans[call.organization.plan].included.email_sends,
    used: await countSends(call.db, call.organization.id, month.toISOString().slice(0, 10)),
    resets_at: next.toISOString(),
  }
}

export const figureHandlers = (): Pick<Handlers<Specs>, FigureOperation> => ({
  async stats(input, call) {
    const scope = scopeOf(call, input)
    const counted = await countEvents(call.db, scope)
    const { reputation } = await reputationOf(call.db, scope.organizationId, call.now)
    return {
      period: periodOf(scope),
      ...totalOf(counted),
      quota: await quotaOf(call),
      warnings: warningsOf(reputation),
    }
  },

  async analyticsSummary(input, call) {
    const scope = scopeOf(call, input)
    const counted = await countEvents(call.db, scope)
    return { period: periodOf(scope), ...ratesOf(totalOf(counted)), series: seriesOf(scope, counted) }
  },

  async analyticsCampaign({ template_name, ...input }, call) {
    const scope = scopeOf(call, input, template_name)
    if (!(await knowsTemplate(call.db, scope, template_name)))
      throw fault("template_not_found", { id: template_name })
    const counted = await countEvents(call.db, scope)
    const total = totalOf(counted)
    return {
      template: template_name,
      period: periodOf(scope),
      ...total,
      ...ratesOf(total),
      series: seriesOf(scope, counted),
      top_links: await topLinks(call.db, scope),
    }
  },
})
