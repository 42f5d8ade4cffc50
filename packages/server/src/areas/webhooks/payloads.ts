import type { areas, Output } from "@svc/contract"
import type { Delivery, EndpointHealth } from "../../core/deliveries/deliveries.ts"
import type { WebhookRow } from "./store.ts"

type Specs = typeof areas.webhooks.specs
type WebhookPayload = Output<Specs["get"]>
export type DeliveryPayload = Output<Specs["retryDelivery"]>

const time = (date: Date | null | undefined): string | null => date?.toISOString() ?? null

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
  last_delivery_at: time(health?.lastDeliveryAt),
  last_success_at: time(health?.lastSuccessAt),
  consecutive_failures: health?.consecutiveFailures ?? 0,
  disabled_at: time(row.disabled_at),
  disabled_reason: row.disabled_reason as WebhookPayload["disabled_reason"],
})

export const toDelivery = (delivery: Delivery): DeliveryPayload => {
  const last = delivery.attempts.at(-1)
  return {
    id: delivery.id,
    webhook_id: delivery.endpointId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    max_retries: delivery.maxRetries,
    next_attempt_at: time(delivery.nextAttemptAt),
    created_at: delivery.createdAt.toISOString(),
    completed_at: time(delivery.completedAt),
    status_code: last?.status_code ?? null,
    response_time_ms: last?.response_time_ms ?? null,
    attempts: [...delivery.attempts],
  }
}
