import type { areas, Output } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { Delivery, EndpointHealth } from "../../services/deliveries/deliveries.ts"
import { deliveryPayload } from "../../services/deliveries/payload.ts"
import type { PublishResult } from "./publisher.ts"
import type { SubscriptionRow, TopicRow } from "./store.ts"

type Specs = typeof areas.events.specs
type TopicPayload = Output<Specs["getTopic"]>
type SubscriptionPayload = Output<Specs["getSubscription"]>
type DeliveryPayload = Output<Specs["retryDelivery"]>

export const toTopic = (row: TopicRow, uncounted: number): TopicPayload => ({
  id: row.id,
  name: row.name,
  project_id: row.project_id,
  subscription_count: row.subscription_count,
  event_count: row.event_count + uncounted,
  retention_days: row.retention_days,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toPublished = (topicId: string, result: PublishResult) => ({
  event_id: result.eventId,
  id: result.eventId,
  topic_id: topicId,
  event_type: result.eventType,
  source: result.source,
  published_at: result.publishedAt.toISOString(),
  matched_subscriptions: result.matched,
  duplicate: result.duplicate,
})

export const toSubscription = (
  row: SubscriptionRow,
  health: EndpointHealth | undefined,
): SubscriptionPayload => ({
  id: row.id,
  topic_id: row.topic_id,
  sub_type: row.sub_type as SubscriptionPayload["sub_type"],
  config: {
    ...(row.sub_type === "webhook" ? { url: row.target } : { function_name: row.target }),
    header_names: row.header_names,
    timeout_seconds: row.timeout_seconds,
    format: row.format as SubscriptionPayload["config"]["format"],
  },
  filter: { event_types: row.event_types },
  max_retries: row.max_retries,
  retry_schedule_seconds: row.retry_schedule_seconds,
  ordered: row.ordered,
  max_per_second: row.max_per_second,
  status: row.status as SubscriptionPayload["status"],
  disabled_reason: row.disabled_reason as SubscriptionPayload["disabled_reason"],
  secret_hint: row.secret_hint,
  consecutive_failures: health?.consecutiveFailures ?? 0,
  last_delivery_at: toIso(health?.lastDeliveryAt),
  last_success_at: toIso(health?.lastSuccessAt),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toDelivery = (delivery: Delivery): DeliveryPayload => ({
  ...deliveryPayload(delivery),
  subscription_id: delivery.endpointId,
})
