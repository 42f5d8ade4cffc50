/** Judges requests to what is guarded: limits first, then the rules of its project. */
import { WAF_BODY_BYTES } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import { newId } from "../../kernel/id.ts"
import type { Guarded, Inspection, RequestInspector, Seen } from "../../services/proxy/inspector.ts"
import type { Limits } from "./limits.ts"
import { pathOf } from "./readings.ts"
import type { Recorder } from "./recorder.ts"
import { refusalOf } from "./refusals.ts"
import { judge, type RuleSet } from "./rule-set.ts"
import type { RuleTable } from "./rule-table.ts"
import type { EventRow } from "./store.ts"

const PATH_MAX = 1_024
/** Of one request. */
const EVENTS_MAX = 10

interface Met {
  readonly source: "custom" | "ddos"
  readonly action: string
  readonly rule?: { readonly id: string; readonly name: string }
  readonly target: string
  readonly value: string
}

const eventOf = (
  { projectId, loadBalancerId }: Guarded,
  { request, target, address, requestId }: Omit<Seen, "body">,
  { source, action, rule, ...matched }: Met,
  nowMs: number,
): EventRow => ({
  ...{ id: newId(nowMs), project_id: projectId, load_balancer_id: loadBalancerId },
  ...{ created_at: new Date(nowMs), source, action, client_ip: address, request_id: requestId },
  ...{ rule_id: rule?.id ?? null, rule_name: rule?.name ?? null, method: request.method ?? "" },
  ...{ host: request.headers.host ?? "", path: pathOf(target).slice(0, PATH_MAX) },
  ...{ matched_target: matched.target, matched_value: matched.value },
})

export const createInspector = (needs: {
  readonly table: RuleTable
  readonly limits: Limits
  readonly recorder: Recorder
  readonly clock: Clock
}): RequestInspector => {
  const { table, limits, recorder, clock } = needs

  /** Who is let through by address is not counted either. */
  const isExempt = ({ rules }: RuleSet, address: string): boolean =>
    rules.some(
      ({ action, targets, pattern }) =>
        action === "allow" &&
        targets.length === 1 &&
        targets[0] === "ip" &&
        pattern.test({ text: address, lower: address.toLowerCase() }),
    )

  const inspection = (guarded: Guarded, set: RuleSet): Inspection => {
    const { projectId, detectsOnly } = guarded
    const count: (name: Parameters<Recorder["count"]>[1], subject?: string) => void = (name, subject) =>
      recorder.count(projectId, name, subject)
    const record = (seen: Omit<Seen, "body">, met: Met) =>
      recorder.event(eventOf(guarded, seen, met, clock.now()))

    return {
      bodyBytes: set.rules.some(({ targets }) => targets.includes("body")) ? WAF_BODY_BYTES : 0,
      admit(seen) {
        count("requests")
        const limited = limits.take(guarded, seen.address, clock.now())
        if (!limited || isExempt(set, seen.address)) return undefined
        const { kind, scope, isNew, waitSeconds } = limited
        const met = { source: "ddos", target: scope, value: seen.address } as const
        if (isNew) record(seen, { ...met, action: detectsOnly ? "log" : kind })
        count("match", "ddos")
        count(detectsOnly ? "logged" : "limited")
        return detectsOnly ? undefined : refusalOf(429, seen, waitSeconds)
      },
      async inspect(seen) {
        const { matches, isSpent } = await judge(set, seen)
        for (const [index, { rule, target, value }] of matches.entries()) {
          count("match", rule.id)
          const action = detectsOnly ? "log" : rule.action
          if (rule.action !== "allow" && index < EVENTS_MAX)
            record(seen, { source: "custom", action, rule, target, value })
        }
        const action = isSpent ? "block" : matches.at(-1)?.rule.action
        if (isSpent)
          record(seen, { source: "custom", action: detectsOnly ? "log" : "block", target: "time", value: "" })
        if (action === undefined) return undefined
        if (action === "block" && !detectsOnly) {
          count("blocked")
          return refusalOf(403, seen)
        }
        count(action === "allow" ? "allowed" : "logged")
        return undefined
      },
    }
  }

  return {
    open(guarded) {
      const set = table.find(guarded)
      return set instanceof Promise ? set.then(found => inspection(guarded, found)) : inspection(guarded, set)
    },
  }
}
