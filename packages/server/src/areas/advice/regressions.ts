import type { StatementHistory } from "../sql/offers.ts"
import { type Finding, inPercent, toFinding } from "./findings.ts"

export const CALLS_MIN = { window: 20, baseline: 50 } as const

const ERROR_SHARE_MIN = 0.05
const ERROR_GROWTH_MIN = 3
/** Of a two-proportion test: chance alone gives less in 999 of 1,000 comparisons. */
const Z_MIN = 3.1
const SLOWER_TIMES_MIN = 2
const SLOWER_MS_MIN = 20

const errorRise = {
  name: "error_rate_regression",
  title: "Statement that fails more often than before",
  level: "ERROR",
  categories: ["RELIABILITY"],
  description: "The share of failed calls is far above that of the seven days before.",
} as const

const slowdown = {
  name: "latency_regression",
  title: "Statement that became slower",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description: "The 95th percentile of its duration is at least twice that of the seven days before.",
} as const

/** The z value of a two-proportion test, with one failure more on each side so that no share is zero. */
export const zOf = (history: StatementHistory): number => {
  const calls = history.calls + 2
  const before = history.baseline_calls + 2
  const share = (history.errors + 1) / calls
  const shareBefore = (history.baseline_errors + 1) / before
  const pooled = (history.errors + history.baseline_errors + 2) / (calls + before)
  return (share - shareBefore) / Math.sqrt(pooled * (1 - pooled) * (1 / calls + 1 / before))
}

const errorRate = (history: StatementHistory): Finding | undefined => {
  const share = history.errors / history.calls
  const before = history.baseline_errors / history.baseline_calls
  if (share < ERROR_SHARE_MIN || share < before * ERROR_GROWTH_MIN || zOf(history) < Z_MIN) return undefined
  return toFinding(errorRise, {
    key: history.query_id,
    detail: `${history.errors} of ${history.calls} calls failed (${inPercent(share)}, before ${inPercent(before)}), last with SQLSTATE ${history.last_sqlstate ?? "unknown"}: ${history.sql}`,
    remediation: "The query log (GET /api/v1/query-logs/{tenant_id}) has the message of each failure.",
    metadata: { ...history, error_rate: share, baseline_error_rate: before },
  })
}

const latency = (history: StatementHistory): Finding | undefined => {
  const { p95_ms: p95, baseline_p95_ms: before } = history
  if (p95 === null || before === null) return undefined
  if (p95 < before * SLOWER_TIMES_MIN || p95 - before < SLOWER_MS_MIN) return undefined
  return toFinding(slowdown, {
    key: history.query_id,
    detail: `The 95th percentile rose from ${before.toFixed(1)} to ${p95.toFixed(1)} ms: ${history.sql}`,
    remediation: "POST /api/v1/optimize looks for an index; if the table grew, ANALYZE it first.",
    metadata: { ...history },
  })
}

/** What the log tells that the database itself does not know. */
export const regressions = (histories: readonly StatementHistory[]): Finding[] =>
  histories.flatMap(history =>
    [errorRate(history), latency(history)].filter(finding => finding !== undefined),
  )
