import type { Db } from "../../kernel/db/database.ts"
import type { DeliveryJob } from "./sending.ts"
import type { DeliveryRow } from "./store.ts"

const REASON_LENGTH_MAX = 300

export const shortReason = (reason: string): string => reason.slice(0, REASON_LENGTH_MAX)

/** What became of a delivery. */
export const settleDelivery = async (
  db: Db,
  { organizationId, deliveryId }: DeliveryJob,
  { reason, ...result }: Pick<DeliveryRow, "status" | "provider_status" | "reason" | "at">,
): Promise<void> => {
  await db
    .updateTable("notifications.deliveries")
    .set({ ...result, reason: reason === null ? null : shortReason(reason) })
    .where("organization_id", "=", organizationId)
    .where("id", "=", deliveryId)
    .execute()
}
