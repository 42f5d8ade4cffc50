/** What every list of deliveries shows, to whatever kind of endpoint. */
import { T } from "./dsl.ts"
import { Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

const DeliveryStatus = OneOf([
  "pending",
  "delivering",
  "delivered",
  "retrying",
  "failed",
  "dead_lettered",
  "cancelled",
])

const DeliveryError = T.Object({
  code: OneOf([
    "timeout",
    "dns_error",
    "connect_error",
    "tls_error",
    "blocked_address",
    "redirect_refused",
    "http_status",
    "response_too_large",
    "function_error",
  ]),
  message: T.String(),
})

const StatusCode = Nullable(T.Integer({ description: "null when there was no answer" }))

const Attempt = T.Object({
  id: Id,
  attempt: T.Integer({ description: "1 for the first" }),
  trigger: OneOf(["scheduled", "manual", "test", "replay"]),
  started_at: Time,
  status_code: StatusCode,
  response_time_ms: T.Integer(),
  url: T.String(),
  remote_ip: Nullable(T.String()),
  response_body: Nullable(T.String({ description: "Its first 4 KiB" })),
  error: Nullable(DeliveryError),
})

export const deliveryFields = {
  id: Id,
  event_id: T.String({ description: "The `webhook-id` of all its attempts" }),
  event_type: T.String(),
  status: DeliveryStatus,
  attempt_count: T.Integer(),
  max_retries: T.Integer({ description: "Attempts after the first" }),
  next_attempt_at: Nullable(Time),
  created_at: Time,
  completed_at: Nullable(Time),
  status_code: Nullable(T.Integer({ description: "Of the last attempt" })),
  response_time_ms: Nullable(T.Integer({ description: "Of the last attempt" })),
  attempts: T.Array(Attempt, { description: "In the order in which they were made" }),
}

export const DeliveryFailure = Nullable(DeliveryError)

export const deliveryQuery = {
  ...pageQuery,
  status: T.Optional(DeliveryStatus),
  event_type: T.Optional(T.String({ minLength: 1, maxLength: 256 })),
  since: T.Optional(T.String({ format: "date-time", description: "Made at or after this time" })),
  until: T.Optional(T.String({ format: "date-time", description: "Made before this time" })),
}

export const replayBody = {
  since: T.Optional(Time),
  until: T.Optional(Time),
  status: T.Optional(OneOf(["delivered", "failed", "dead_lettered", "cancelled"])),
}
