import { areas } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { type Handlers, implement } from "../../kernel/implement.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { BranchInsight, Targets } from "../databases/offers.ts"
import type { StatementLog } from "../sql/offers.ts"
import { ordered, runChecks, summaryOf } from "./anomalies.ts"
import { type Inspection, inspect } from "./inspect.ts"
import { createOptimizer } from "./optimize/optimize.ts"
import { CALLS_MIN, regressions } from "./regressions.ts"
import { readUsage, suggestScaling } from "./scaling.ts"

type Operations = typeof areas.advice.specs

export interface AdviceNeeds {
  readonly targets: Targets
  readonly sessions: Sessions
  readonly insight: BranchInsight
  readonly histories: StatementLog["histories"]
  readonly naturalLanguageToSql: Handlers<Operations>["naturalLanguageToSql"]
}

const WINDOW_HOURS_DEFAULT = 24
const HOUR_MS = 3_600_000
const BASELINE_MS = 7 * 24 * HOUR_MS

const CANNOT_CONNECT = /^(08|57P|53)/

/** A server that goes away under a report is a matter of a moment. */
const refusal = (error: unknown): unknown => {
  const { code } = error as { code?: string }
  if (code === undefined || !CANNOT_CONNECT.test(code)) return error
  return fault("service_unavailable", { reason: "the database ended the session" }, { internal: error })
}

export const adviceHandlers = implement(areas.advice, (needs: AdviceNeeds) => {
  const { targets, sessions, insight, histories } = needs
  const { withTemporaryBranch } = insight

  /** As owner, who may watch the whole server; the inspection itself can write nothing. */
  const inspected = async <Result>(
    target: Target,
    signal: AbortSignal,
    work: (inspection: Inspection) => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await sessions.use(
        target,
        "owner",
        ({ client }) => inspect(client, target.volume.pgVersion, work),
        { signal },
      )
    } catch (error) {
      throw refusal(error)
    }
  }

  const optimizer = (readOnly: boolean) =>
    createOptimizer({
      // A copy takes room and a server of its own: more than a read-only key may cause.
      withTemporaryBranch: readOnly ? () => Promise.reject(fault("key_read_only")) : withTemporaryBranch,
      withSession: (target, work, signal) =>
        sessions.use(target, "owner", ({ client }) => work(client), signal ? { signal } : undefined),
    })
  const optimizers = { reading: optimizer(true), any: optimizer(false) }

  return {
    async anomalies({ window_hours: hours = WINDOW_HOURS_DEFAULT, ...named }, call) {
      const target = await targets.of(call, named)
      const to = call.now
      const from = new Date(to.getTime() - hours * HOUR_MS)
      const window = { from, to, baselineFrom: new Date(from.getTime() - BASELINE_MS) }
      const logged = await histories(target, window, CALLS_MIN)
      const { findings, skipped } = await inspected(target, call.signal, inspection => runChecks(inspection))
      const all = ordered([...findings, ...regressions(logged)])
      return {
        generated_at: to.toISOString(),
        window: {
          from: from.toISOString(),
          to: to.toISOString(),
          baseline_from: window.baselineFrom.toISOString(),
        },
        summary: summaryOf(all),
        findings: all,
        skipped,
      }
    },

    async optimize({ sql, params, limit, ...named }, call) {
      const target = await targets.of(call, named)
      const request = {
        ...(sql !== undefined && { sql }),
        ...(params && { params }),
        ...(limit !== undefined && { limit }),
      }
      try {
        return await optimizers[call.readOnly ? "reading" : "any"](target, request, call.now, call.signal)
      } catch (error) {
        throw refusal(error)
      }
    },

    async scaling(named, call) {
      const target = await targets.of(call, named)
      const known = await insight.factsOf(target)
      const usage = await inspected(target, call.signal, readUsage)
      return { generated_at: call.now.toISOString(), suggestions: suggestScaling(known, usage) }
    },

    naturalLanguageToSql: needs.naturalLanguageToSql,
  }
})
