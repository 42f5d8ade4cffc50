import { toIso } from "../../kernel/to-iso.ts"
import type { Delivery } from "./deliveries.ts"

/** A delivery on the wire, without the endpoint, which each area names in its own way. */
export const deliveryPayload = (delivery: Delivery) => {
  const last = delivery.attempts.at(-1)
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    max_retries: delivery.maxRetries,
    next_attempt_at: toIso(delivery.nextAttemptAt),
    created_at: delivery.createdAt.toISOString(),
    completed_at: toIso(delivery.completedAt),
    status_code: last?.status_code ?? null,
    response_time_ms: last?.response_time_ms ?? null,
    attempts: [...delivery.attempts],
  }
}

const dateOf = (time: string | undefined): Date | undefined =>
  time === undefined ? undefined : new Date(time)

/** Times that bound a list or a replay, as callers write them. */
export const rangeOf = ({
  since,
  until,
}: {
  readonly since?: string | undefined
  readonly until?: string | undefined
}) => ({
  since: dateOf(since),
  until: dateOf(until),
})
