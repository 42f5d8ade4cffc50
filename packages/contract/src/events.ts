import { DeliveryFailure, deliveryFields, deliveryQuery, replayBody } from "./deliveries-fields.ts"
import { area, MIB, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

/** Bytes of an event's data as JSON text. */
export const EVENT_DATA_BYTES_MAX = 262_144
/** Events of one publish. */
export const EVENTS_PUBLISHED_MAX = 100
export const EVENT_RETENTION_DAYS_MAX = 30
export const TOPICS_MAX = 1_000
/** Of one topic. */
export const SUBSCRIPTIONS_MAX = 100
export const SUBSCRIPTION_RETRIES_DEFAULT = 3
/** How long an event's own id is remembered. */
export const EVENT_DEDUPE_SECONDS = 86_400
export const SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT = 86_400

const GRACE_SECONDS_MAX = 7 * 86_400
const PATTERNS_MAX = 100

const TopicId = { topic_id: Id }
const SubId = { sub_id: Id }

const TopicName = T.String({
  pattern: "^[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}$",
  maxLength: 255,
  description: "Letters, digits, `.`, `_` and `-`; unique in the project",
})
export const EventType = T.String({
  pattern: "^[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*$",
  maxLength: 256,
  description: "Words of letters, digits, `_` and `-`, with dots between them: `order.paid`",
})
const Pattern = T.String({
  pattern: "^(\\*|[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*(\\.\\*)?)$",
  maxLength: 256,
  description: "A type as it is, `order.*` for all that begin with `order.`, or `*` for all",
})

const Topic = T.Object({
  id: Id,
  name: T.String(),
  project_id: Nullable(Id),
  subscription_count: T.Integer(),
  event_count: T.Integer({ description: "Published since the topic was made" }),
  retention_days: T.Integer({ description: "How long events are kept" }),
  created_at: Time,
  updated_at: Time,
})

const eventFields = {
  event_type: EventType,
  data: T.Optional(T.Record(T.String(), T.Unknown(), { description: "At most 256 KiB as JSON" })),
  source: T.Optional(T.String({ minLength: 1, maxLength: 256, description: "Who says so" })),
  id: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description:
        "Yours: published again within 24 hours, it answers as the first time with `duplicate: true`",
    }),
  ),
  occurred_at: T.Optional(Time),
  ordering_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 256,
      description: "Ordered subscriptions get events of one key one after the other",
    }),
  ),
}
const aliases = { event_id: "id" }

const Published = T.Object({
  event_id: T.String({ description: "The `webhook-id` of its deliveries" }),
  id: T.String({ description: "The same" }),
  topic_id: Id,
  event_type: T.String(),
  source: Nullable(T.String()),
  published_at: Time,
  matched_subscriptions: T.Integer(),
  duplicate: T.Boolean({ description: "It had been published before, and this is the answer of then" }),
})

const SubscriptionType = OneOf(["webhook", "function"])
const Format = OneOf(["standard", "cloudevents"])

const subscriptionFields = {
  config: T.Object(
    {
      url: T.Optional(
        T.String({
          minLength: 1,
          maxLength: 2_048,
          description: "Of a webhook; must lead to a public address",
        }),
      ),
      function_name: T.Optional(T.String({ minLength: 1, maxLength: 255, description: "Of a function" })),
      headers: T.Optional(
        T.Record(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 4_096 }), {
          maxProperties: 20,
          description: "Sent beside our own. Never shown again; left out in a change, they stay",
        }),
      ),
      timeout_seconds: T.Optional(T.Integer({ minimum: 1, maximum: 30, default: 15 })),
      format: T.Optional(Format),
    },
    { additionalProperties: false },
  ),
  filter: T.Optional(
    T.Object(
      { event_types: T.Optional(T.Array(Pattern, { maxItems: PATTERNS_MAX, uniqueItems: true })) },
      { additionalProperties: false, description: "None or empty: every event" },
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
          "Before each retry, the last one repeated; else 5 s, 5 min, 30 min, 2, 5, 10, 14, 20, 24 hours",
      }),
    ),
  ),
  ordered: T.Optional(
    T.Boolean({ default: false, description: "Events of one ordering key are sent one after the other" }),
  ),
  max_per_second: T.Optional(Nullable(T.Integer({ minimum: 1, maximum: 10_000 }))),
}

const shownFields = {
  id: Id,
  topic_id: Id,
  sub_type: SubscriptionType,
  config: T.Object({
    url: T.Optional(T.String()),
    function_name: T.Optional(T.String()),
    header_names: T.Array(T.String()),
    timeout_seconds: T.Integer(),
    format: Format,
  }),
  filter: T.Object({ event_types: T.Array(T.String()) }),
  max_retries: T.Integer(),
  retry_schedule_seconds: Nullable(T.Array(T.Integer())),
  ordered: T.Boolean(),
  max_per_second: Nullable(T.Integer()),
  status: OneOf(["active", "disabled"]),
  disabled_reason: Nullable(OneOf(["owner", "gone", "failing"])),
  secret_hint: T.String({ description: "The last four characters of the signing secret" }),
  consecutive_failures: T.Integer({ description: "Attempts since the last that succeeded" }),
  last_delivery_at: Nullable(Time),
  last_success_at: Nullable(Time),
  created_at: Time,
  updated_at: Time,
}
const Subscription = T.Object(shownFields)
const WithSecret = T.Object({
  ...shownFields,
  signing_secret: T.Optional(T.String({ description: "Shown when it is new, and then never again" })),
})

const Delivery = T.Object({ ...deliveryFields, subscription_id: Id })

interface StreamedEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}
const Stream = T.Unsafe<AsyncIterable<StreamedEvent>>(T.Unknown())

export const events = area(
  "events",
  {
    title: "Events",
    summary: "Topics, and subscriptions that are told of what is published",
    project: "optional",
  },
  {
    createTopic: {
      id: "createTopic",
      http: "POST /v1/events/topics",
      summary: "Create a topic",
      scope: "events:manage",
      effect: "write",
      body: T.Object({
        name: TopicName,
        retention_days: T.Optional(
          T.Integer({ minimum: 1, maximum: EVENT_RETENTION_DAYS_MAX, default: EVENT_RETENTION_DAYS_MAX }),
        ),
      }),
      replies: { 201: Topic },
      faults: ["name_taken", "invalid_parameter"],
      example: { name: "orders" },
    },
    listTopics: {
      beyond: true,
      id: "listTopics",
      http: "GET /v1/events/topics",
      summary: "List topics",
      scope: "events:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Topic) },
    },
    getTopic: {
      beyond: true,
      id: "getTopic",
      http: "GET /v1/events/topics/{topic_id}",
      summary: "Show a topic",
      scope: "events:read",
      effect: "read",
      params: T.Object(TopicId),
      replies: { 200: Topic },
      faults: ["topic_not_found"],
    },
    deleteTopic: {
      beyond: true,
      id: "deleteTopic",
      http: "DELETE /v1/events/topics/{topic_id}",
      summary: "Delete a topic with its subscriptions and events",
      scope: "events:manage",
      effect: "destroy",
      params: T.Object(TopicId),
      replies: { 204: null },
      faults: ["topic_not_found"],
    },
    publish: {
      id: "publishEvent",
      http: "POST /v1/events/topics/{topic_id}/publish",
      summary: "Publish an event, or up to 100",
      description:
        "Answers once the event is on disk; it is delivered at least once to every subscription that matches. Several " +
        "events go in `events`, are published all or none, and are answered in `events` in their order.",
      scope: "events:publish",
      effect: "write",
      audit: "rollup",
      params: T.Object(TopicId),
      body: T.Object({
        ...eventFields,
        event_type: T.Optional(EventType),
        events: T.Optional(
          T.Array(T.Object(eventFields, { additionalProperties: false }), {
            minItems: 1,
            maxItems: EVENTS_PUBLISHED_MAX,
          }),
        ),
      }),
      aliases,
      bodyBytesMax: 8 * MIB,
      replies: { 200: T.Union([Published, T.Object({ events: T.Array(Published) })]) },
      faults: ["topic_not_found", "event_too_large", "missing_parameter", "invalid_parameter"],
      meters: ["events_published"],
      example: { event_type: "order.paid", data: { order_id: 42 }, source: "billing" },
    },
    tail: {
      beyond: true,
      id: "tailTopic",
      http: "GET /v1/events/topics/{topic_id}/tail",
      summary: "Watch a topic's events as they are published",
      description:
        "Server-sent events for people who look on, for an hour at most: `event` is the type, `id` the event's, `data` " +
        "its envelope. What must not be missed goes to a subscription.",
      scope: "events:read",
      effect: "read",
      content: { reply: "sse" },
      params: T.Object(TopicId),
      query: T.Object({ event_type: T.Optional(Pattern) }),
      replies: { 200: Stream },
      faults: ["topic_not_found", "rate_limited"],
    },
    createSubscription: {
      id: "createSubscription",
      http: "POST /v1/events/topics/{topic_id}/subscriptions",
      summary: "Subscribe an endpoint or a function to a topic",
      description:
        "Deliveries are POSTs signed as Standard Webhooks 1.0.0 says. Whatever is no 2xx is repeated with growing " +
        "delays, `max_retries` times after the first attempt; then it is `dead_lettered` and can be replayed.",
      scope: "events:manage",
      effect: "write",
      params: T.Object(TopicId),
      body: T.Object({ sub_type: SubscriptionType, ...subscriptionFields }),
      replies: { 201: WithSecret },
      secrets: ["signing_secret"],
      faults: [
        "topic_not_found",
        "invalid_webhook_url",
        "missing_parameter",
        "invalid_parameter",
        "not_implemented",
      ],
      example: {
        sub_type: "webhook",
        config: { url: "https://example.com/hooks" },
        filter: { event_types: ["order.*"] },
      },
    },
    listSubscriptions: {
      beyond: true,
      id: "listSubscriptions",
      http: "GET /v1/events/topics/{topic_id}/subscriptions",
      summary: "List the subscriptions of a topic",
      scope: "events:read",
      effect: "read",
      params: T.Object(TopicId),
      query: PageQuery,
      replies: { 200: Page(Subscription) },
      faults: ["topic_not_found"],
    },
    getSubscription: {
      beyond: true,
      id: "getSubscription",
      http: "GET /v1/events/subscriptions/{sub_id}",
      summary: "Show a subscription",
      scope: "events:read",
      effect: "read",
      params: T.Object(SubId),
      replies: { 200: Subscription },
      faults: ["subscription_not_found"],
    },
    updateSubscription: {
      beyond: true,
      id: "updateSubscription",
      http: "PUT /v1/events/subscriptions/{sub_id}",
      summary: "Replace a subscription",
      description:
        "All fields are replaced, and what is left out gets its default; headers that are left out stay. Disabling it " +
        "cancels what waits to be sent; activating it forgets its failures.",
      scope: "events:manage",
      effect: "write",
      idempotent: "naturally",
      params: T.Object(SubId),
      body: T.Object({
        ...subscriptionFields,
        status: T.Optional(OneOf(["active", "disabled"])),
      }),
      replies: { 200: Subscription },
      faults: ["subscription_not_found", "invalid_webhook_url", "missing_parameter", "invalid_parameter"],
    },
    deleteSubscription: {
      beyond: true,
      id: "deleteSubscription",
      http: "DELETE /v1/events/subscriptions/{sub_id}",
      summary: "Delete a subscription; what waits to be sent is cancelled",
      scope: "events:manage",
      effect: "destroy",
      params: T.Object(SubId),
      replies: { 204: null },
      faults: ["subscription_not_found"],
    },
    testSubscription: {
      beyond: true,
      id: "testSubscription",
      http: "POST /v1/events/subscriptions/{sub_id}/test",
      summary: "Send a test event, once and now",
      description: "Answers 200 whatever the endpoint does: the reply tells what that was.",
      scope: "events:manage",
      effect: "write",
      params: T.Object(SubId),
      replies: {
        200: T.Object({
          success: T.Boolean(),
          status_code: Nullable(T.Integer()),
          response_time_ms: Nullable(T.Integer()),
          error: DeliveryFailure,
          delivery: Delivery,
        }),
      },
      faults: ["subscription_not_found"],
    },
    rotateSecret: {
      beyond: true,
      id: "rotateSubscriptionSecret",
      http: "POST /v1/events/subscriptions/{sub_id}/rotate-secret",
      summary: "Give a subscription a new signing secret",
      description:
        "Both sign until the grace period is over, so that receivers can change in their own time.",
      scope: "events:manage",
      effect: "write",
      params: T.Object(SubId),
      body: T.Object({
        grace_period_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: GRACE_SECONDS_MAX,
            default: SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT,
          }),
        ),
      }),
      replies: { 200: WithSecret },
      secrets: ["signing_secret"],
      faults: ["subscription_not_found"],
    },
    replay: {
      beyond: true,
      id: "replaySubscription",
      http: "POST /v1/events/subscriptions/{sub_id}/replay",
      summary: "Send deliveries of a time again",
      description:
        "Those that were given up, unless `status` names others; at most 10,000, the oldest first.",
      scope: "events:manage",
      effect: "write",
      params: T.Object(SubId),
      body: T.Object(replayBody),
      replies: { 200: T.Object({ replayed: T.Integer() }) },
      faults: ["subscription_not_found", "invalid_parameter"],
    },
    deliveries: {
      id: "listSubscriptionDeliveries",
      http: "GET /v1/events/subscriptions/{sub_id}/deliveries",
      summary: "List the deliveries of a subscription, with all attempts",
      description: "Kept for 30 days after the event. `total` is counted up to 100,000.",
      scope: "events:read",
      effect: "read",
      params: T.Object(SubId),
      query: T.Object(deliveryQuery),
      replies: { 200: Page(Delivery) },
      faults: ["subscription_not_found"],
    },
    retryDelivery: {
      beyond: true,
      id: "retrySubscriptionDelivery",
      http: "POST /v1/events/subscriptions/{sub_id}/deliveries/{delivery_id}/retry",
      summary: "Send one delivery again now",
      scope: "events:manage",
      effect: "write",
      params: T.Object({ ...SubId, delivery_id: Id }),
      replies: { 200: Delivery },
      faults: ["subscription_not_found", "delivery_not_found", "invalid_state_transition"],
    },
  },
)
