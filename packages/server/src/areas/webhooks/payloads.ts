import type { areas, Output } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { Delivery, EndpointHealth } from "../../services/deliveries/deliveries.ts"
import { deliveryPayload } from "../../services/deliveries/payload.ts"
import type { WebhookRow } from "./store.ts"

type Specs = typeof areas.webhooks.specs
type WebhookPayload = Output<Specs["get"]>
type DeliveryPayload = Output<Specs["retryDelivery"]>

export const toWebhook = (row: WebhookRow, health: EndpointHealth | undefined): WebhookPayload => ({
  id: row.id,
  tenant_id: row.organization_id,
  project_id: row.project_id,
  url: row.url,
  event_types: row.event_types,
  active: row.active,
  description: row.description,
  secret_hint: row.secret_hint,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  last_delivery_at: toIso(health?.lastDeliveryAt),
  last_success_at: toIso(health?.lastSuccessAt),
  consecutive_failures: health?.consecutiveFailures ?? 0,
  disabled_at: toIso(row.disabled_at),
  disabled_reason: row.disabled_reason as WebhookPayload["disabled_reason"],
})

export const toDelivery = (delivery: Delivery): DeliveryPayload => ({
  ...deliveryPayload(delivery),
  webhook_id: delivery.endpointId,
})
