import { every } from "../../kernel/every.ts"
import { kvHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

const SWEEP_EVERY_MS = 5_000
const SWEPT_MAX = 10_000

export const start = ({ kv, atRest, clock, log }: Needs) => {
  // Readers never see an expired entry; this only gives its space back.
  const sweeper = every(clock, SWEEP_EVERY_MS, async () => void (await kv.sweep(clock.now(), SWEPT_MAX)), {
    log,
    failure: "deleting expired key-value entries failed; will retry",
  })
  return {
    operations: kvHandlers({ kv, atRest }),
    [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
  }
}
