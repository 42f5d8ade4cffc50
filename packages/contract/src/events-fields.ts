/** The records and fields of events. */
import { deliveryFields } from "./deliveries-fields.ts"
import { T } from "./dsl.ts"
import { workloadLimits } from "./plans.ts"
import { Dictionary, described, Id, Nullable, OneOf, Time } from "./types.ts"

/** Bytes of an event's data as JSON text. */
export const EVENT_DATA_BYTES_MAX = 262_144
/** Events of one publish. */
export const EVENTS_PUBLISHED_MAX = 100
export const EVENT_RETENTION_DAYS_MAX = 30
export const TOPICS_MAX = 1_000
/** Largest number per topic. */
export const SUBSCRIPTIONS_MAX = 100
export const SUBSCRIPTION_RETRIES_DEFAULT = 3
/** How long an endpoint has to answer one attempt, and how long it can be given. */
export const WEBHOOK_SECONDS_DEFAULT = 15
export const WEBHOOK_SECONDS_MAX = 30
const FUNCTION_SECONDS_MAX = workloadLimits.function.timeout_seconds.max
/** How long an event's own id is remembered. */
export const EVENT_DEDUPE_SECONDS = 86_400
export const SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT = 86_400

export const GRACE_SECONDS_MAX = 7 * 86_400
const PATTERNS_MAX = 100

export const TopicId = { topic_id: Id }
export const SubId = { sub_id: Id }

export const TopicName = T.String({
  pattern: "^[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}$",
  maxLength: 255,
  description: "Letters, digits, `.`, `_` and `-`; unique in the project",
})
export const EventType = T.String({
  pattern: "^[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*$",
  maxLength: 256,
  description: "Words of letters, digits, `_` and `-`, with dots between them: `order.paid`",
})
export const Pattern = T.String({
  pattern: "^(\\*|[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*(\\.\\*)?)$",
  maxLength: 256,
  description: "A type as it is, `order.*` for all that begin with `order.`, or `*` for all",
})

export const Topic = T.Object({
  id: Id,
  name: T.String({ description: "Name, unique in the project" }),
  project_id: Nullable(Id, { description: "Project it belongs to; null for the organization" }),
  subscription_count: T.Integer({ description: "Number of its subscriptions" }),
  event_count: T.Integer({ description: "Events published since the topic was created" }),
  retention_days: T.Integer({ description: "Days for which events are stored" }),
  created_at: Time,
  updated_at: Time,
})

export const eventFields = {
  event_type: EventType,
  data: T.Optional(
    T.Record(T.String(), T.Unknown(), {
      description: "Data of the event, at most 256 KiB as JSON; empty when left out",
    }),
  ),
  source: T.Optional(
    T.String({ minLength: 1, maxLength: 256, description: "Source of the event, as you name it" }),
  ),
  id: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description:
        "Id of your own: publishing it again within 24 hours returns the first reply with `duplicate: true`",
    }),
  ),
  occurred_at: T.Optional(described(Time, "RFC 3339 time when it happened; now when left out")),
  ordering_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description: "Ordered subscriptions receive events of one key one after the other",
    }),
  ),
}
export const eventAliases = { event_id: "id" }

export const Published = T.Object({
  event_id: T.String({ description: "Id of the event, sent as `webhook-id` with its deliveries" }),
  id: T.String({ description: "The same as `event_id`" }),
  topic_id: Id,
  event_type: T.String({ description: "Type of the event" }),
  source: Nullable(T.String(), { description: "Source that the publisher gave; null for none" }),
  published_at: Time,
  matched_subscriptions: T.Integer({ description: "Subscriptions that get the event" }),
  duplicate: T.Boolean({
    description: "True if the event was published before; the reply is that of the first time",
  }),
})

export const SubscriptionType = OneOf(["webhook", "function"], {
  description: "`webhook` sends HTTP requests, `function` invokes a function of the project",
})
const Format = OneOf(["standard", "cloudevents"])

export const subscriptionFields = {
  config: T.Object(
    {
      url: T.Optional(
        T.String({
          minLength: 1,
          maxLength: 2_048,
          description: "Address of a webhook; it must resolve to a public address",
        }),
      ),
      function_name: T.Optional(
        T.String({
          minLength: 1,
          maxLength: 255,
          description: "Name of the function of a function subscription",
        }),
      ),
      headers: T.Optional(
        Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 4_096 }), {
          maxProperties: 20,
          description:
            "Headers that are added to the requests of a webhook; replies have only their names. Left out in an update, they do not change. A function " +
            "gets the event alone and must not have them",
        }),
      ),
      timeout_seconds: T.Optional(
        T.Integer({
          minimum: 1,
          maximum: FUNCTION_SECONDS_MAX,
          description:
            `How long one attempt may take. For a webhook at most ${WEBHOOK_SECONDS_MAX}, ` +
            `${WEBHOOK_SECONDS_DEFAULT} when left out. For a function at most, and when left out, its own limit; ` +
            "it is not retried while it runs",
        }),
      ),
      format: T.Optional(
        described(Format, "Shape of the body: Standard Webhooks (the default) or CloudEvents 1.0"),
      ),
    },
    { additionalProperties: false, description: "Where deliveries go" },
  ),
  filter: T.Optional(
    T.Object(
      {
        event_types: T.Optional(
          T.Array(Pattern, {
            maxItems: PATTERNS_MAX,
            uniqueItems: true,
            description: "Patterns of types; an event that matches one of them is delivered",
          }),
        ),
      },
      {
        additionalProperties: false,
        description: "Which events are delivered; left out or empty: every event",
      },
    ),
  ),
  max_retries: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 20,
      default: SUBSCRIPTION_RETRIES_DEFAULT,
      description: "Attempts after the first",
    }),
  ),
  retry_schedule_seconds: T.Optional(
    Nullable(
      T.Array(T.Integer({ minimum: 1, maximum: 86_400 }), {
        minItems: 1,
        maxItems: 20,
        description:
          "Seconds before each retry, the last value repeated; null or left out: 5 s, 5 min, 30 min, 2, 5, 10, 14, 20, 24 hours",
      }),
    ),
  ),
  ordered: T.Optional(
    T.Boolean({ default: false, description: "Send events of one ordering key one after the other" }),
  ),
  max_per_second: T.Optional(
    Nullable(T.Integer({ minimum: 1, maximum: 10_000 }), {
      description: "Largest number of deliveries per second; null or left out: no limit",
    }),
  ),
}

const shownFields = {
  id: Id,
  topic_id: Id,
  sub_type: SubscriptionType,
  config: T.Object(
    {
      url: T.Optional(T.String({ description: "Address of a webhook" })),
      function_name: T.Optional(T.String({ description: "Name of the function" })),
      header_names: T.Array(T.String(), {
        description: "Names of the headers that are added; values are not shown",
      }),
      timeout_seconds: T.Integer({ description: "How long one attempt may take" }),
      format: described(Format, "Shape of the body"),
    },
    { description: "Where deliveries go" },
  ),
  filter: T.Object(
    { event_types: T.Array(T.String(), { description: "Patterns of types; empty for every event" }) },
    { description: "Which events are delivered" },
  ),
  max_retries: T.Integer({ description: "Attempts after the first" }),
  retry_schedule_seconds: Nullable(T.Array(T.Integer()), {
    description: "Seconds before each retry; null for the default schedule",
  }),
  ordered: T.Boolean({ description: "Whether events of one ordering key are sent one after the other" }),
  max_per_second: Nullable(T.Integer(), {
    description: "Largest number of deliveries per second; null for no limit",
  }),
  status: OneOf(["active", "disabled"], { description: "`disabled`: nothing is delivered" }),
  disabled_reason: Nullable(OneOf(["owner", "gone", "failing"]), {
    description:
      "`owner`: by a request; `gone`: it responded with 410; `failing`: it failed for five days; null while it is active",
  }),
  secret_hint: T.String({ description: "The last four characters of the signing secret" }),
  consecutive_failures: T.Integer({ description: "Failed attempts since the last successful one" }),
  last_delivery_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last attempt; null before the first",
  }),
  last_success_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last successful attempt; null before the first",
  }),
  created_at: Time,
  updated_at: Time,
}
export const Subscription = T.Object(shownFields)
export const WithSecret = T.Object({
  ...shownFields,
  signing_secret: T.Optional(T.String({ description: "Shown only in the reply that sets it" })),
})

export const Delivery = T.Object({ ...deliveryFields, subscription_id: Id })

interface StreamedEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}
export const Stream = T.Unsafe<AsyncIterable<StreamedEvent>>(T.Unknown())
