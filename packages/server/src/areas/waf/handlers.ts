import {
  areas,
  type Input,
  page,
  pageOf,
  WAF_BODY_PROGRAM_SIZE_MAX,
  WAF_EVENTS_PAGE_MAX,
  WAF_PROGRAM_SIZE_MAX,
  WAF_RULES_MAX,
  WAF_STATS_SECONDS,
  type WafTarget,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { LoadBalancers } from "../lb/offers.ts"
import type { Limits } from "./limits.ts"
import { compilePattern, PatternError } from "./patterns.ts"
import { toEvent, toRule, toStats } from "./payloads.ts"
import type { Recorder } from "./recorder.ts"
import { WAF_TOPIC } from "./rule-table.ts"
import { type RuleRow, wafStore } from "./store.ts"

type RuleInput = Input<typeof areas.waf.specs.createRule>

export interface WafHandlerNeeds {
  readonly changes: Changes
  readonly loadBalancers: Offer<LoadBalancers>
  readonly recorder: Recorder
  readonly limits: Limits
}

const TEXT_TARGETS: WafTarget[] = ["path", "query", "headers", "cookies", "body"]

const target = ({ id, name }: RuleRow) => ({ type: "waf_rule", id, name })

const NAME_MAX = 64

const checked = async ({ match = "regex", targets, pattern }: RuleInput): Promise<WafTarget[]> => {
  const isRange = match === "cidr"
  if (isRange && targets?.some(one => one !== "ip"))
    throw fault("unsupported_waf_rule", { reason: "a range is looked for in `ip` alone" })
  const wanted = targets ?? (isRange ? ["ip"] : TEXT_TARGETS)
  try {
    const sizeMax = wanted.includes("body") ? WAF_BODY_PROGRAM_SIZE_MAX : WAF_PROGRAM_SIZE_MAX
    await compilePattern(match, pattern, sizeMax)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw fault("unsupported_waf_rule", { reason: error.message })
  }
  return wanted
}

export const wafHandlers = implement(areas.waf, (needs: WafHandlerNeeds) => {
  const { changes, recorder, limits } = needs

  const checkBalancer = async (call: Call, id: string | null | undefined) => {
    if (id === null || id === undefined) return
    const balancers = await provided(needs.loadBalancers)
    if (!(await balancers.exists(call.db, call.projectTenant.projectId, id)))
      throw fault("load_balancer_unknown", { id })
  }

  const rowOf = async (
    input: RuleInput,
    call: Call,
    made: Pick<RuleRow, "id" | "created_at">,
  ): Promise<RuleRow> => {
    const targets = await checked(input)
    await checkBalancer(call, input.load_balancer_id)
    return {
      ...made,
      project_id: call.projectTenant.projectId,
      name: input.name ?? input.pattern.slice(0, NAME_MAX),
      pattern: input.pattern,
      match: input.match ?? "regex",
      targets: [...targets],
      action: input.action,
      priority: input.priority ?? 100,
      enabled: input.enabled ?? true,
      load_balancer_id: input.load_balancer_id ?? null,
      updated_at: call.now,
    }
  }

  /** Every process reads the rules of the project again; describes the call too. */
  const changed = async (call: Call, row: RuleRow) => {
    await changes.invalidate(call.db, WAF_TOPIC, row.project_id)
    call.describe({ targets: [target(row)] })
  }

  return {
    async listRules(input, call) {
      const { rows, total } = await wafStore(call.db).list(call.projectTenant.projectId, pageOf(input))
      return page({ rows: rows.map(toRule), total }, input)
    },

    async createRule(input, call) {
      const row = await rowOf(input, call, { id: newId(), created_at: call.now })
      const store = wafStore(call.db)
      if ((await store.countToCreate(row.project_id)) >= WAF_RULES_MAX)
        throw fault("invalid_parameter", { reason: `a project has at most ${WAF_RULES_MAX} rules` })
      await store.insert(row)
      await changed(call, row)
      return toRule(row)
    },

    async updateRule({ id, ...input }, call) {
      const store = wafStore(call.db)
      const before = await requireRow(
        store.findForUpdate(call.projectTenant.projectId, id),
        "rule_not_found",
        { id },
      )
      const row = await rowOf(input, call, before)
      await store.replace(row)
      await changed(call, row)
      return toRule(row)
    },

    async deleteRule({ id }, call) {
      const deleted = wafStore(call.db).delete(call.projectTenant.projectId, id)
      await changed(call, await requireRow(deleted, "rule_not_found", { id }))
      return { id, deleted: true }
    },

    async listEvents({ cursor, limit = WAF_EVENTS_PAGE_MAX }, call) {
      // What this process has seen is there.
      await recorder.flush()
      const rows = await wafStore(call.db).events(call.projectTenant.projectId, cursor, limit + 1)
      const shown = rows.slice(0, limit)
      return { events: shown.map(toEvent), cursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
    },

    async stats(_, call) {
      const { projectId } = call.projectTenant
      await recorder.flush()
      const nowMs = call.now.getTime()
      const counts = await wafStore(call.db).counts(projectId, new Date(nowMs - WAF_STATS_SECONDS * 1000))
      return toStats(counts, limits.state(projectId, nowMs))
    },
  }
})
