import { DeliveryFailure, deliveryFields, deliveryQuery, replayBody } from "./deliveries-fields.ts"
import { area, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

/** Largest number per organization. */
export const WEBHOOKS_MAX = 1_000
/** How long earlier secrets sign beside a new one, unless a rotation says otherwise. */
export const WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT = 86_400
export const WEBHOOK_EVENT_TYPES_LIMIT_DEFAULT = 200

const PATTERNS_MAX = 100
const GRACE_SECONDS_MAX = 7 * 86_400

const Tenant = { tenant_id: Id }
const Named = { ...Tenant, id: Id }

const Secret = T.String({
  maxLength: 100,
  description:
    "Base64 of 24 to 64 random bytes, with or without `whsec_` in front; generated when left out. Other text is rejected: " +
    "libraries for Standard Webhooks decode every secret as base64",
})

const fields = {
  url: T.String({
    minLength: 1,
    maxLength: 2048,
    description: "Address of the request; it must resolve to a public address",
  }),
  event_types: T.Array(T.String({ minLength: 1, maxLength: 64 }), {
    minItems: 1,
    maxItems: PATTERNS_MAX,
    uniqueItems: true,
    description: "Types as they are, `build.*` for all that begin with `build.`, `*` for all",
  }),
  secret: T.Optional(Secret),
  active: T.Optional(T.Boolean({ default: true, description: "Nothing is sent while it is false" })),
  description: T.Optional(T.String({ maxLength: 500, default: "" })),
}
const aliases = { events: "event_types", enabled: "active" }

const webhookFields = {
  id: Id,
  tenant_id: Id,
  project_id: Nullable(Id, {
    description: "Project whose events are sent; null for all of the organization",
  }),
  url: T.String(),
  event_types: T.Array(T.String(), {
    description: "Types of events that are sent; `database.*` for a group, `*` for all",
  }),
  active: T.Boolean({ description: "False while nothing is sent" }),
  description: T.String(),
  secret_hint: T.String({ description: "The last four characters of the secret" }),
  created_at: Time,
  updated_at: Time,
  last_delivery_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last attempt; null before the first",
  }),
  last_success_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last successful attempt; null before the first",
  }),
  consecutive_failures: T.Integer({ description: "Failed attempts since the last successful one" }),
  disabled_at: Nullable(
    T.String({
      format: "date-time",
      description:
        "RFC 3339 time in UTC when it was disabled because it responded with 410 or failed for five days; null while it is active",
    }),
  ),
  disabled_reason: Nullable(OneOf(["gone", "failing"]), {
    description: "`gone`: it responded with 410; `failing`: it failed for five days; null while it is active",
  }),
}

const Webhook = T.Object(webhookFields)
const WithSecret = T.Object({
  ...webhookFields,
  secret: T.Optional(T.String({ description: "Shown only in the reply that sets it" })),
})

const Delivery = T.Object({ ...deliveryFields, webhook_id: Id })

const EventType = T.Object({
  type: T.String({ description: "Type of the event" }),
  description: T.String(),
  schema: T.Record(T.String(), T.Unknown(), { description: "JSON Schema of `data`" }),
})

const PROJECT =
  "A webhook of a project gets events of that project and of the organization as a whole, and is visible to " +
  "callers of that project and of the organization; one that is created outside any project gets all events."

export const webhooks = area(
  "webhooks",
  {
    title: "Webhooks",
    summary: "Endpoints that receive events of the organization's resources",
    project: "optional",
    belongs: "project",
  },
  {
    list: {
      id: "listWebhooks",
      http: "GET /api/v1/tenants/{tenant_id}/webhooks",
      summary: "List webhooks",
      scope: "webhooks:read",
      effect: "read",
      params: T.Object(Tenant),
      query: PageQuery,
      replies: { 200: Page(Webhook) },
    },
    eventTypes: {
      extension: true,
      id: "listWebhookEventTypes",
      http: "GET /api/v1/tenants/{tenant_id}/webhooks/event-types",
      summary: "List the event types that a webhook can receive",
      scope: "webhooks:read",
      effect: "read",
      params: T.Object(Tenant),
      query: T.Object({
        ...PageQuery.properties,
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: 200,
            default: WEBHOOK_EVENT_TYPES_LIMIT_DEFAULT,
            description: "Largest number of items in the reply",
          }),
        ),
      }),
      replies: { 200: Page(EventType) },
    },
    register: {
      id: "registerWebhook",
      http: "POST /api/v1/tenants/{tenant_id}/webhooks",
      summary: "Register an endpoint for events of your resources",
      description: `Each event is a POST request, signed as Standard Webhooks defines, and retried for three days until the response is 2xx. ${PROJECT}`,
      scope: "webhooks:write",
      effect: "write",
      params: T.Object(Tenant),
      body: T.Object(fields),
      aliases,
      replies: { 201: WithSecret },
      secrets: ["secret"],
      faults: ["invalid_webhook_url", "invalid_parameter"],
      example: { url: "https://example.com/hooks", event_types: ["database.*", "key.revoked"] },
    },
    get: {
      id: "getWebhook",
      http: "GET /api/v1/tenants/{tenant_id}/webhooks/{id}",
      summary: "Show a webhook",
      scope: "webhooks:read",
      effect: "read",
      params: T.Object(Named),
      replies: { 200: Webhook },
      faults: ["webhook_not_found"],
    },
    update: {
      id: "updateWebhook",
      http: "PUT /api/v1/tenants/{tenant_id}/webhooks/{id}",
      summary: "Replace a webhook",
      description:
        "All fields are replaced, and fields that are left out get their defaults; without `secret` the secret does not change. The " +
        "secret before a new one also signs for 24 hours. Deactivating a webhook cancels pending deliveries.",
      scope: "webhooks:write",
      effect: "write",
      risk: "by-input",
      idempotency: "natural",
      params: T.Object(Named),
      body: T.Object(fields),
      aliases,
      replies: { 200: WithSecret },
      secrets: ["secret"],
      faults: ["webhook_not_found", "invalid_webhook_url", "invalid_parameter"],
      example: { url: "https://example.com/hooks", event_types: ["*"], active: true },
    },
    unregister: {
      id: "unregisterWebhook",
      http: "DELETE /api/v1/tenants/{tenant_id}/webhooks/{id}",
      summary: "Remove a webhook; nothing is sent to it any more",
      scope: "webhooks:write",
      effect: "destroy",
      params: T.Object(Named),
      replies: { 204: null },
      faults: ["webhook_not_found"],
    },
    rotateSecret: {
      extension: true,
      id: "rotateWebhookSecret",
      http: "POST /api/v1/tenants/{tenant_id}/webhooks/{id}/rotate-secret",
      summary: "Rotate the signing secret of a webhook",
      description:
        "Earlier secrets also sign until their grace period is over, so that receivers can change over. " +
        "With 0 seconds they end now.",
      scope: "webhooks:write",
      effect: "write",
      risk: "high",
      params: T.Object(Named),
      body: T.Object({
        secret: T.Optional(Secret),
        grace_period_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: GRACE_SECONDS_MAX,
            default: WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT,
            description: "Seconds for which the old secret still signs",
          }),
        ),
      }),
      replies: { 200: WithSecret },
      secrets: ["secret"],
      faults: ["webhook_not_found", "invalid_parameter"],
      example: { grace_period_seconds: 3600 },
    },
    test: {
      id: "testWebhook",
      http: "POST /api/v1/tenants/{tenant_id}/webhooks/{id}/test",
      summary: "Send a test event and return the result",
      description:
        "One signed attempt of the type `webhook.test`, whatever the types of the webhook and whether it is active or not. The " +
        "reply is 200 also if the endpoint failed: see `success` and `error`.",
      scope: "webhooks:write",
      effect: "write",
      transaction: "none",
      params: T.Object(Named),
      replies: {
        200: T.Object({
          success: T.Boolean({ description: "True if the endpoint accepted the event" }),
          status_code: deliveryFields.status_code,
          response_time_ms: deliveryFields.response_time_ms,
          error: DeliveryFailure,
          delivery: described(Delivery, "The delivery with its attempt"),
        }),
      },
      faults: ["webhook_not_found"],
    },
    deliveries: {
      id: "listWebhookDeliveries",
      http: "GET /api/v1/tenants/{tenant_id}/webhooks/{id}/deliveries",
      summary: "List the deliveries of a webhook, with every attempt",
      scope: "webhooks:read",
      effect: "read",
      params: T.Object(Named),
      query: T.Object(deliveryQuery),
      replies: { 200: Page(Delivery) },
      faults: ["webhook_not_found"],
    },
    retryDelivery: {
      extension: true,
      id: "retryWebhookDelivery",
      http: "POST /api/v1/tenants/{tenant_id}/webhooks/{id}/deliveries/{delivery_id}/retry",
      summary: "Send one delivery again, now",
      description:
        "A finished delivery gets one more attempt; a waiting one has its next attempt now; one that is being sent stays as " +
        "it is.",
      scope: "webhooks:write",
      effect: "write",
      params: T.Object({ ...Named, delivery_id: Id }),
      replies: { 200: Delivery },
      faults: ["webhook_not_found", "delivery_not_found", "invalid_state_transition"],
    },
    replay: {
      extension: true,
      id: "replayWebhook",
      http: "POST /api/v1/tenants/{tenant_id}/webhooks/{id}/replay",
      summary: "Send finished deliveries again",
      description:
        "Deliveries created from `since` on and before `until`, of one status, `dead_lettered` by default. 10,000 " +
        "at most in one call.",
      scope: "webhooks:write",
      effect: "write",
      params: T.Object(Named),
      body: T.Object(replayBody),
      replies: {
        200: T.Object({ replayed: T.Integer({ description: "Number of deliveries that are sent again" }) }),
      },
      faults: ["webhook_not_found", "invalid_state_transition"],
      example: { status: "dead_lettered" },
    },
  },
)
