import { defineArea } from "../../services.ts"
import { kvHandlers } from "./handlers.ts"

const SWEEP_EVERY_MS = 5_000
const SWEPT_MAX = 10_000

export const kvArea = defineArea({
  name: "kv",
  title: "Key-value",
  needs: ["kv", "atRest", "clock", "log"],
  start({ kv, atRest, clock, log }) {
    // Readers never see an expired entry; this only gives its space back.
    const sweeper = clock.every(SWEEP_EVERY_MS, async () => {
      try {
        await kv.sweep(clock.now(), SWEPT_MAX)
      } catch (error) {
        log.warn({ err: error }, "expired key-value entries stay for now")
      }
    })
    return {
      operations: kvHandlers({ kv, atRest }),
      async state() {
        const health = await kv.health()
        if (health.ok) return { status: "available", capabilities: { ...kv.capabilities } }
        // Every tenant may read this; what the engine says of itself (addresses, paths) is for the log alone.
        return { status: "degraded", reason: "the key-value engine does not answer", setting: "SVC_KV_URL" }
      },
      async [Symbol.asyncDispose]() {
        sweeper[Symbol.dispose]()
      },
    }
  },
})
