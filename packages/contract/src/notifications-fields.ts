import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

export const NOTIFICATION_RECIPIENTS_MAX = 100
/** Bytes of `data` as JSON text. */
export const NOTIFICATION_DATA_BYTES_MAX = 8192
/** Largest number per recipient. */
export const NOTIFICATION_DEVICES_MAX = 50
export const NOTIFICATION_RETENTION_DAYS = 90

const TTL_SECONDS_MAX = NOTIFICATION_RETENTION_DAYS * 86_400

export const notificationChannels = ["in_app", "push", "email"] as const
export type NotificationChannel = (typeof notificationChannels)[number]

/** From the least to the most important. */
export const notificationPriorities = ["min", "low", "default", "high", "urgent"] as const
export type NotificationPriority = (typeof notificationPriorities)[number]

export const pushProviders = ["webpush", "unifiedpush", "fcm", "apns"] as const

const Channel = OneOf(notificationChannels, { description: "Way to the recipient" })
export const Priority = OneOf(notificationPriorities, {
  description: "Importance; quiet hours can hold back the lower ones",
})
/** A word such as `build.failed`. */
const Label = T.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_.:-]*$" })
const Title = T.String({ minLength: 1, maxLength: 200 })
const Data = T.Record(T.String(), T.Unknown(), {
  description: `Data for the app: a JSON object of at most ${NOTIFICATION_DATA_BYTES_MAX} bytes`,
})

/** Whose inbox. */
export const Whose = {
  user_id: T.Optional(
    T.String({
      format: "uuid",
      description:
        "Inbox to use: a member's by user id, or a service key's by key id; the caller's own when left out",
    }),
  ),
}

export const notificationFilters = {
  ...Whose,
  ...pageQuery,
  read: T.Optional(T.Boolean({ description: "True: only read notifications; false: only unread ones" })),
  archived: T.Optional(
    T.Boolean({ default: false, description: "True: archived notifications instead of the others" }),
  ),
  category: T.Optional(described(Label, "Only notifications of this category")),
  type: T.Optional(described(Label, "Only notifications of this type")),
  since: T.Optional(described(Time, "Only notifications created at or after this RFC 3339 time")),
  until: T.Optional(described(Time, "Only notifications created before this RFC 3339 time")),
}

export const sendFields = {
  to: T.Optional(
    T.Union([Id, T.Array(Id, { minItems: 1, maxItems: NOTIFICATION_RECIPIENTS_MAX, uniqueItems: true })], {
      description: "User ids of members, or ids of service keys; the caller when left out",
    }),
  ),
  all: T.Optional(
    T.Boolean({
      description: "Send to every member of the organization instead of `to`; false when left out",
    }),
  ),
  type: T.Optional(described(Label, "What it is about, as `build.failed`; preferences can name it")),
  category: T.Optional(described(Label, "Group that preferences can name")),
  title: Title,
  body: T.Optional(
    T.String({ maxLength: 4000, default: "", description: "Text below the title; empty when left out" }),
  ),
  data: T.Optional(Data),
  action_url: T.Optional(
    Nullable(
      T.String({
        minLength: 1,
        maxLength: 2048,
        description: "Address to open: http, https, or a path of the app",
      }),
    ),
  ),
  priority: T.Optional(OneOf(notificationPriorities, { description: "`default` when left out" })),
  channels: T.Optional(
    T.Array(Channel, {
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      description: "Channels to use; `in_app` and `push` when left out",
    }),
  ),
  dedupe_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description:
        "A second notification of the project with this key is not sent within 24 hours, and gets the reply of the first",
    }),
  ),
  collapse_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description: "Replaces the recipient's unread notification with the same key",
    }),
  ),
  ttl_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: TTL_SECONDS_MAX,
      description: "Seconds after which it is deleted and no longer pushed; 90 days when left out",
    }),
  ),
}

export const Sent = T.Object({
  id: T.String({ format: "uuid", description: "Id of the notification in each recipient's inbox" }),
  status: OneOf(["accepted"], { description: "Always `accepted`" }),
  duplicate: T.Boolean({
    description: "True if nothing was sent because of an earlier notification with this `dedupe_key`",
  }),
  recipient_count: T.Integer({ description: "Number of recipients" }),
  channels: T.Object(
    {
      in_app: T.Optional(
        OneOf(["stored", "skipped"], {
          description: "`skipped`: the preferences of all recipients exclude it",
        }),
      ),
      push: T.Optional(
        OneOf(["queued", "skipped", "no_devices"], {
          description: "`skipped`: preferences exclude it; `no_devices`: no recipient has one",
        }),
      ),
      email: T.Optional(
        OneOf(["queued", "skipped", "no_address", "unavailable"], {
          description: "`unavailable`: the installation sends no mail",
        }),
      ),
    },
    { description: "Outcome for each channel that was asked for" },
  ),
})

const Delivery = T.Object({
  channel: Channel,
  device_id: Nullable(Id, { description: "Device of a push; null for other channels" }),
  status: OneOf(
    ["queued", "sent", "failed", "expired", "skipped_preference", "skipped_quiet_hours", "unavailable"],
    { description: "Outcome of the delivery" },
  ),
  provider_status: Nullable(
    T.Integer({
      description: "HTTP status of the push service; null for other channels and before the attempt",
    }),
  ),
  reason: Nullable(T.String(), { description: "Why it was not delivered; null if it was" }),
  at: described(Time, "RFC 3339 time in UTC of the outcome"),
})

export const Notification = T.Object({
  id: Id,
  user_id: described(Id, "Owner of the inbox: a person or a service key"),
  project_id: Nullable(Id, { description: "Project that it was sent from; null for the organization" }),
  type: Nullable(T.String(), { description: "What it is about; null for nothing in particular" }),
  category: Nullable(T.String(), { description: "Group; null for none" }),
  title: T.String(),
  body: T.String({ description: "Text below the title" }),
  data: T.Record(T.String(), T.Unknown(), { description: "Data of the app; empty for none" }),
  action_url: Nullable(T.String(), { description: "Address to open; null for none" }),
  priority: Priority,
  read: T.Boolean({ description: "True if it was read" }),
  read_at: Nullable(Time, { description: "RFC 3339 time in UTC; null while it is unread" }),
  seen_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it was not seen" }),
  archived_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not archived" }),
  created_at: Time,
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC when it is deleted; null for never" }),
  deliveries: T.Array(Delivery, { description: "Outcome on each channel and device" }),
})

export const Marked = T.Object({
  id: Id,
  read: T.Boolean({ description: "True if it was read" }),
  read_at: Nullable(Time, { description: "RFC 3339 time in UTC; null while it is unread" }),
  seen_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it was not seen" }),
  archived_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not archived" }),
})
