/** Fields of deliveries to any kind of endpoint. */
import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

const DeliveryStatus = OneOf(
  ["pending", "delivering", "delivered", "retrying", "failed", "dead_lettered", "cancelled"],
  {
    description:
      "`retrying`: another attempt follows; `dead_lettered`: all attempts failed; it can be replayed",
  },
)

const DeliveryError = T.Object({
  code: OneOf(
    [
      "timeout",
      "dns_error",
      "connect_error",
      "tls_error",
      "blocked_address",
      "redirect_refused",
      "http_status",
      "response_too_large",
      "function_error",
    ],
    { description: "Kind of failure" },
  ),
  message: T.String({ description: "Details of the failure" }),
})

const StatusCode = Nullable(T.Integer({ description: "HTTP status of the response; null if there was none" }))

const Attempt = T.Object({
  id: Id,
  attempt: T.Integer({ description: "Number of the attempt, from 1" }),
  trigger: OneOf(["scheduled", "manual", "test", "replay"], { description: "Why the attempt was made" }),
  started_at: Time,
  status_code: StatusCode,
  response_time_ms: T.Integer({ description: "Milliseconds until the response" }),
  url: T.String({ description: "Address that it was sent to" }),
  remote_ip: Nullable(T.String(), {
    description: "IP address that it was sent to; null where no connection was made",
  }),
  response_body: Nullable(T.String({ description: "First 4 KiB of the response; null if there was none" })),
  error: Nullable(DeliveryError, { description: "Why it failed; null if it succeeded" }),
})

export const deliveryFields = {
  id: Id,
  event_id: T.String({ description: "Id of the event, sent as `webhook-id` with all attempts" }),
  event_type: T.String({ description: "Type of the event" }),
  status: DeliveryStatus,
  attempt_count: T.Integer({ description: "Attempts so far" }),
  max_retries: T.Integer({ description: "Attempts after the first" }),
  next_attempt_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the next attempt; null when none is planned",
  }),
  created_at: Time,
  completed_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when it was delivered or given up; null before",
  }),
  status_code: Nullable(
    T.Integer({ description: "HTTP status of the last response; null if there was none" }),
  ),
  response_time_ms: Nullable(
    T.Integer({ description: "Milliseconds of the last attempt; null before the first" }),
  ),
  attempts: T.Array(Attempt, { description: "Attempts, in order" }),
}

export const DeliveryFailure = Nullable(DeliveryError, { description: "Why it failed; null if it succeeded" })

export const deliveryQuery = {
  ...pageQuery,
  status: T.Optional(described(DeliveryStatus, "Only deliveries with this status")),
  event_type: T.Optional(T.String({ minLength: 1, maxLength: 256, description: "Only events of this type" })),
  since: T.Optional(
    T.String({ format: "date-time", description: "Only deliveries created at or after this RFC 3339 time" }),
  ),
  until: T.Optional(
    T.String({ format: "date-time", description: "Only deliveries created before this RFC 3339 time" }),
  ),
}

export const replayBody = {
  since: T.Optional(
    described(Time, "Only deliveries created at or after this RFC 3339 time; from the oldest when left out"),
  ),
  until: T.Optional(
    described(Time, "Only deliveries created before this RFC 3339 time; to the newest when left out"),
  ),
  status: T.Optional(
    OneOf(["delivered", "failed", "dead_lettered", "cancelled"], {
      description: "Status of the deliveries to send again; `dead_lettered` when left out",
    }),
  ),
}
