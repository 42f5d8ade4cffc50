import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const encryption = defineModule({
  name: "encryption",
  title: "Encryption",
  contract: [areas.encryption],
  needs,
  async state({ tenantKeys }) {
    const health = await tenantKeys.health()
    if (health.ok) return { status: "available" }
    // Every tenant may read this; what the engine says of itself is for the log alone.
    return {
      status: "degraded",
      reason: "the secrets engine does not respond; cached keys keep working",
      setting: "SVC_VAULT_ADDR",
    }
  },
  load: () => import("./area.ts"),
})
