import type { ReputationGuard } from "../analytics/reputation.ts"
import type { EmailDelivery } from "../delivery.ts"
import { settingsStore } from "../settings/store.ts"
import { suppressionKey, suppressionStore } from "./store.ts"

/** Three queries at most; bounces are rare. */
export const createSuppressAfter =
  (guard: ReputationGuard): EmailDelivery["suppressAfter"] =>
  async (db, event) => {
    await guard.suspect(db, event.organizationId, event.at)
    const settings = await settingsStore(db).find(event.organizationId)
    const isBounce = event.kind === "hard_bounce"
    const isWanted = isBounce ? settings?.suppress_hard_bounce : settings?.suppress_complaint
    if (isWanted === false) return
    await suppressionStore(db).add({
      organization_id: event.organizationId,
      address: suppressionKey(event.address),
      reason: event.kind,
      origin: isBounce ? "system" : "recipient",
      source_email_id: event.emailId,
      created_at: event.at,
    })
  }
