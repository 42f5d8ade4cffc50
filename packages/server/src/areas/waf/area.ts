import { WAF_EVENT_DAYS, WAF_STATS_SECONDS } from "@svc/contract"
import { every } from "../../kernel/every.ts"
import { provide } from "../../kernel/token.ts"
import { requestInspector } from "../../services/proxy/inspector.ts"
import { wafHandlers } from "./handlers.ts"
import { createInspector } from "./inspector.ts"
import { createLimits } from "./limits.ts"
import type { Needs } from "./needs.ts"
import { createRecorder } from "./recorder.ts"
import { createRuleTable } from "./rule-table.ts"
import { wafRecords } from "./store.ts"

const PRUNE_EVERY_MS = 600_000
/** The oldest slot that counts has begun before the window. */
const COUNTERS_MS = 2 * WAF_STATS_SECONDS * 1000

export const start = ({ database, changes, clock, log, loadBalancers, settings }: Needs) => {
  const records = wafRecords(database.db)
  const recorder = createRecorder({ records, clock, log })
  const limits = createLimits({ rate: settings.wafRate, banSeconds: settings.wafBanSeconds })
  const table = createRuleTable({ read: records.rules, changes, log })
  const pruning = every(
    clock,
    PRUNE_EVERY_MS,
    () => records.prune(clock.now(), WAF_EVENT_DAYS, COUNTERS_MS),
    { log, failure: "removing old firewall events failed; will retry" },
  )
  return {
    operations: wafHandlers({ changes, loadBalancers, recorder, limits }),
    provides: [provide(requestInspector, createInspector({ table, limits, recorder, clock }))],
    async [Symbol.asyncDispose]() {
      await pruning[Symbol.asyncDispose]()
      await recorder[Symbol.asyncDispose]()
    },
  }
}
