import { defineArea } from "../../services.ts"
import { encryptionHandlers } from "./handlers.ts"

export const encryptionArea = defineArea({
  name: "encryption",
  title: "Encryption",
  needs: ["tenantKeys"],
  start({ tenantKeys }) {
    return {
      operations: encryptionHandlers({ tenantKeys }),
      async state() {
        const health = await tenantKeys.health()
        if (health.ok) return { status: "available" }
        // Every tenant may read this; what the engine says of itself is for the log alone.
        return {
          status: "degraded",
          reason: "the secrets engine does not answer; keys in use go on working",
          setting: "SVC_VAULT_ADDR",
        }
      },
    }
  },
})
