import { encryptionHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = ({ tenantKeys }: Needs) => {
  return {
    operations: encryptionHandlers({ tenantKeys }),
  }
}
