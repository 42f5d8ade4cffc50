import { T } from "./dsl.ts"
import { Dictionary, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

export const NOTIFICATION_RECIPIENTS_MAX = 100
/** Bytes of `data` as JSON text. */
export const NOTIFICATION_DATA_BYTES_MAX = 8192
/** Of one recipient. */
export const NOTIFICATION_DEVICES_MAX = 50
export const NOTIFICATION_RETENTION_DAYS = 90

const TTL_SECONDS_MAX = NOTIFICATION_RETENTION_DAYS * 86_400

export const notificationChannels = ["in_app", "push", "email"] as const
export type NotificationChannel = (typeof notificationChannels)[number]

/** From what may wait to what may wake somebody. */
export const notificationPriorities = ["min", "low", "default", "high", "urgent"] as const
export type NotificationPriority = (typeof notificationPriorities)[number]

export const pushProviders = ["webpush", "unifiedpush", "fcm", "apns"] as const

const Channel = OneOf(notificationChannels)
const Priority = OneOf(notificationPriorities)
/** A word such as `build.failed`. */
const Label = T.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_.:-]*$" })
const Title = T.String({ minLength: 1, maxLength: 200 })
const Data = T.Record(T.String(), T.Unknown(), {
  description: `Anything that the app wants beside the text: a JSON object of at most ${NOTIFICATION_DATA_BYTES_MAX} bytes`,
})

/** Whose inbox. */
export const Whose = {
  user_id: T.Optional(
    T.String({
      format: "uuid",
      description:
        "Another inbox of the organization: a member's, or a service key's by the key's id. Left out: the caller's own",
    }),
  ),
}

export const notificationFilters = {
  ...Whose,
  ...pageQuery,
  read: T.Optional(T.Boolean({ description: "Only those that were read, or only those that were not" })),
  archived: T.Optional(
    T.Boolean({ default: false, description: "Those that were archived, in place of the others" }),
  ),
  category: T.Optional(Label),
  type: T.Optional(Label),
  since: T.Optional(Time),
  until: T.Optional(Time),
}

export const sendFields = {
  to: T.Optional(
    T.Union([Id, T.Array(Id, { minItems: 1, maxItems: NOTIFICATION_RECIPIENTS_MAX, uniqueItems: true })], {
      description: "Members of the organization, or service keys by their id. Left out: the caller",
    }),
  ),
  all: T.Optional(T.Boolean({ description: "Every member of the organization, in place of `to`" })),
  type: T.Optional(Label),
  category: T.Optional(Label),
  title: Title,
  body: T.Optional(T.String({ maxLength: 4000, default: "" })),
  data: T.Optional(Data),
  action_url: T.Optional(
    Nullable(
      T.String({
        minLength: 1,
        maxLength: 2048,
        description: "An address of http or https, or a path of the app",
      }),
    ),
  ),
  priority: T.Optional(OneOf(notificationPriorities)),
  channels: T.Optional(
    T.Array(Channel, {
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      description: "`in_app` and `push` when left out",
    }),
  ),
  dedupe_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description:
        "Within 24 hours a second notification of the project with this key is not sent; the first one's result is the answer",
    }),
  ),
  collapse_key: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description: "Takes the place of the recipient's unread one with the same key",
    }),
  ),
  ttl_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: TTL_SECONDS_MAX,
      description: "After that it is gone, and is pushed no more",
    }),
  ),
}

export const Sent = T.Object({
  id: T.String({ format: "uuid", description: "Of the notification, in each recipient's inbox" }),
  status: OneOf(["accepted"]),
  duplicate: T.Boolean({
    description: "Nothing was sent, because a notification with this `dedupe_key` was",
  }),
  recipient_count: T.Integer(),
  channels: T.Object({
    in_app: T.Optional(OneOf(["stored", "skipped"])),
    push: T.Optional(OneOf(["queued", "skipped", "no_devices"])),
    email: T.Optional(OneOf(["queued", "skipped", "no_address", "unavailable"])),
  }),
})

const Delivery = T.Object({
  channel: Channel,
  device_id: Nullable(Id),
  status: OneOf([
    "queued",
    "sent",
    "failed",
    "expired",
    "skipped_preference",
    "skipped_quiet_hours",
    "unavailable",
  ]),
  provider_status: Nullable(T.Integer({ description: "HTTP status of the push service" })),
  reason: Nullable(T.String()),
  at: Time,
})

export const Notification = T.Object({
  id: Id,
  user_id: Id,
  project_id: Nullable(Id),
  type: Nullable(T.String()),
  category: Nullable(T.String()),
  title: T.String(),
  body: T.String(),
  data: T.Record(T.String(), T.Unknown()),
  action_url: Nullable(T.String()),
  priority: Priority,
  read: T.Boolean(),
  read_at: Nullable(Time),
  seen_at: Nullable(Time),
  archived_at: Nullable(Time),
  created_at: Time,
  expires_at: Nullable(Time),
  deliveries: T.Array(Delivery),
})

export const Marked = T.Object({
  id: Id,
  read: T.Boolean(),
  read_at: Nullable(Time),
  seen_at: Nullable(Time),
  archived_at: Nullable(Time),
})

const SubscriptionKeys = T.Object(
  {
    p256dh: T.String({ minLength: 1, maxLength: 128 }),
    auth: T.String({ minLength: 1, maxLength: 64 }),
  },
  { additionalProperties: false },
)

export const deviceFields = {
  platform: T.Optional(OneOf(["web", "android", "ios"])),
  provider: OneOf(pushProviders),
  token: T.Optional(T.String({ minLength: 1, maxLength: 4096, description: "For `fcm` and `apns`" })),
  subscription: T.Optional(
    T.Object(
      {
        endpoint: T.String({ minLength: 1, maxLength: 2048 }),
        expirationTime: T.Optional(
          Nullable(
            T.Number({ description: "As browsers send it; a push service says itself when it has expired" }),
          ),
        ),
        keys: SubscriptionKeys,
      },
      {
        additionalProperties: false,
        description: "For `webpush` and `unifiedpush`: what `pushManager.subscribe` gave",
      },
    ),
  ),
  environment: T.Optional(OneOf(["production", "sandbox"])),
  name: T.Optional(T.String({ maxLength: 100 })),
  locale: T.Optional(
    T.String({
      maxLength: 35,
      pattern: "^[A-Za-z0-9-]+$",
      description: "For your own use: shown in the record, and nothing is translated by it",
    }),
  ),
}

export const Device = T.Object({
  id: Id,
  user_id: Id,
  platform: OneOf(["web", "android", "ios"]),
  provider: OneOf(pushProviders),
  environment: OneOf(["production", "sandbox"]),
  token_hint: T.String({ description: "The last characters of the token or endpoint" }),
  name: Nullable(T.String()),
  locale: Nullable(T.String()),
  active: T.Boolean(),
  last_success_at: Nullable(Time),
  invalidated_at: Nullable(Time),
  invalid_reason: Nullable(T.String()),
  created_at: Time,
  updated_at: Time,
})

const channelSwitches = {
  in_app: T.Optional(T.Boolean()),
  push: T.Optional(T.Boolean()),
  email: T.Optional(T.Boolean()),
}
/** The title tells it from the object around it, for generators that name classes by place. */
const Switches = T.Object(channelSwitches, { additionalProperties: false, title: "ChannelSwitches" })
const ByLabel = (description: string) =>
  Dictionary(T.String({ maxLength: 128 }), T.Union([T.Boolean(), Switches]), {
    maxProperties: 200,
    description,
  })

const WallTime = T.String({ minLength: 5, maxLength: 5, description: "`22:00`" })

const QuietHours = T.Object(
  {
    start: WallTime,
    end: T.String({ ...WallTime, description: "Before `start`: of the next day" }),
    timezone: T.String({ minLength: 1, maxLength: 64, description: "`Europe/Berlin`" }),
    min_priority: T.Optional(
      T.String({
        enum: [...notificationPriorities],
        default: "urgent",
        description: "What is pushed all the same",
      }),
    ),
  },
  { additionalProperties: false },
)

export const preferenceFields = {
  channel_types: T.Optional(Switches),
  categories: T.Optional(ByLabel("By category: all channels, or each of them")),
  types: T.Optional(ByLabel("By type; these come before categories, and those before `channel_types`")),
  quiet_hours: T.Optional(Nullable(QuietHours)),
  digest: T.Optional(T.Object({ email: OneOf(["off", "hourly", "daily"]) }, { additionalProperties: false })),
}

export const Preferences = T.Object({
  user_id: Id,
  channel_types: T.Object({ in_app: T.Boolean(), push: T.Boolean(), email: T.Boolean() }),
  categories: T.Record(T.String(), T.Unknown()),
  types: T.Record(T.String(), T.Unknown()),
  quiet_hours: Nullable(
    T.Object({ start: T.String(), end: T.String(), timezone: T.String(), min_priority: Priority }),
  ),
  digest: T.Object({ email: OneOf(["off", "hourly", "daily"]) }),
  updated_at: Nullable(Time),
})

const Host = (description: string) => T.Optional(T.String({ minLength: 1, maxLength: 2048, description }))

export const providerFields = {
  webpush: T.Optional(
    T.Object(
      {
        subject: T.String({
          maxLength: 300,
          description: "Whom a push service may turn to: `mailto:` or `https://`",
        }),
      },
      { additionalProperties: false },
    ),
  ),
  fcm: T.Optional(
    Nullable(
      T.Object(
        {
          project_id: T.String({ minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9:._-]+$" }),
          client_email: T.String({ minLength: 3, maxLength: 254 }),
          private_key: T.String({
            minLength: 1,
            maxLength: 8192,
            description: "PEM, as in the service account's file",
          }),
          url: Host("`https://fcm.googleapis.com` when left out"),
          token_url: Host("`https://oauth2.googleapis.com/token` when left out"),
        },
        { additionalProperties: false },
      ),
    ),
  ),
  apns: T.Optional(
    Nullable(
      T.Object(
        {
          team_id: T.String({ minLength: 1, maxLength: 32, pattern: "^[A-Za-z0-9]+$" }),
          key_id: T.String({ minLength: 1, maxLength: 32, pattern: "^[A-Za-z0-9]+$" }),
          private_key: T.String({ minLength: 1, maxLength: 8192, description: "PEM of the .p8 file" }),
          topic: T.String({ minLength: 1, maxLength: 255, description: "Bundle id of the app" }),
          url: Host("Apple's by the device's environment when left out"),
        },
        { additionalProperties: false },
      ),
    ),
  ),
}

export const Providers = T.Object({
  webpush: T.Object({ configured: T.Boolean(), subject: T.String(), public_key: T.String() }),
  fcm: T.Object({
    configured: T.Boolean(),
    project_id: Nullable(T.String()),
    client_email: Nullable(T.String()),
  }),
  apns: T.Object({
    configured: T.Boolean(),
    team_id: Nullable(T.String()),
    key_id: Nullable(T.String()),
    topic: Nullable(T.String()),
  }),
})
