import { WAF_STATS_SECONDS } from "@svc/contract"
import type { EventRow, RuleRow, wafStore } from "./store.ts"

export const toRule = ({ created_at, updated_at, ...row }: RuleRow) => ({
  ...row,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

const actionOf = (word: string): "block" | "log" | "rate_limit" | "ban" =>
  word === "block" || word === "rate_limit" || word === "ban" ? word : "log"

export const toEvent = ({ created_at, project_id: _, source, action, ...row }: EventRow) => ({
  ...row,
  timestamp: created_at.toISOString(),
  source: source === "ddos" ? ("ddos" as const) : ("custom" as const),
  action: actionOf(action),
})

type Counts = Awaited<ReturnType<ReturnType<typeof wafStore>["counts"]>>

const RULES_SHOWN = 100

export const toStats = (
  counts: Counts,
  { tracked, banned }: { readonly tracked: number; readonly banned: number },
) => {
  const totalOf = (name: string) => counts.find(one => one.name === name)?.count ?? 0
  const matches = counts.filter(({ name }) => name === "match")
  const ofRules = matches.filter(({ subject }) => subject !== "ddos")
  return {
    window_seconds: WAF_STATS_SECONDS,
    requests_total: totalOf("requests"),
    blocked_total: totalOf("blocked"),
    logged_total: totalOf("logged"),
    allowed_total: totalOf("allowed"),
    events_dropped_total: totalOf("dropped"),
    by_rule: ofRules
      .map(({ subject, count }) => ({ rule_id: subject, matches: count }))
      .sort((a, b) => b.matches - a.matches)
      .slice(0, RULES_SHOWN),
    by_category: {
      custom: ofRules.reduce((sum, { count }) => sum + count, 0),
      ddos: matches.find(({ subject }) => subject === "ddos")?.count ?? 0,
    },
    ddos: { tracked_ips: tracked, rate_limited_total: totalOf("limited"), banned_ips: banned },
  }
}
