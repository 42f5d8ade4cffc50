import type { areas, Output } from "@svc/contract"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { DeliveryRow, EntryRow, NotificationRow } from "./store.ts"

type Specs = typeof areas.notifications.specs
type NotificationPayload = Output<Specs["get"]>
type DeliveryPayload = NotificationPayload["deliveries"][number]
type DevicePayload = Output<Specs["unregisterDevice"]>

export type DeviceRow = Tables["notifications.devices"]

const toDelivery = (row: DeliveryRow): DeliveryPayload => ({
  channel: row.channel as DeliveryPayload["channel"],
  device_id: row.device_id,
  status: row.status as DeliveryPayload["status"],
  provider_status: row.provider_status,
  reason: row.reason,
  at: row.at.toISOString(),
})

const marks = (row: EntryRow) => ({
  read: row.read_at !== null,
  read_at: toIso(row.read_at),
  seen_at: toIso(row.seen_at),
  archived_at: toIso(row.archived_at),
})

export const toMarked = (row: EntryRow) => ({ id: row.id, ...marks(row) })

/** `deliveries`: of this one and maybe of others. */
export const toNotification = (
  row: NotificationRow,
  deliveries: readonly DeliveryRow[],
): NotificationPayload => ({
  id: row.id,
  user_id: row.user_id,
  project_id: row.project_id,
  type: row.type,
  category: row.category,
  title: row.title,
  body: row.body,
  data: row.data as Record<string, unknown>,
  action_url: row.action_url,
  priority: row.priority as NotificationPayload["priority"],
  ...marks(row),
  created_at: row.created_at.toISOString(),
  expires_at: toIso(row.expires_at),
  deliveries: deliveries.filter(({ notification_id }) => notification_id === row.id).map(toDelivery),
})

export const toDevice = (row: DeviceRow): DevicePayload => ({
  id: row.id,
  user_id: row.user_id,
  platform: row.platform as DevicePayload["platform"],
  provider: row.provider as DevicePayload["provider"],
  environment: row.environment as DevicePayload["environment"],
  token_hint: row.token_hint,
  name: row.name,
  locale: row.locale,
  active: row.invalidated_at === null,
  last_success_at: toIso(row.last_success_at),
  invalidated_at: toIso(row.invalidated_at),
  invalid_reason: row.invalid_reason,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
