import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const kv = defineModule({
  name: "kv",
  title: "Key-value",
  contract: [areas.kv],
  needs,
  async state({ kv }) {
    const health = await kv.health()
    if (health.ok) return { status: "available", capabilities: { ...kv.capabilities } }
    // Every tenant may read this; what the engine says of itself (addresses, paths) is for the log alone.
    return { status: "degraded", reason: "the key-value engine does not respond", setting: "SVC_KV_URL" }
  },
  load: () => import("./area.ts"),
})
