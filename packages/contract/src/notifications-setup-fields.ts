/** Devices, preferences and push services, as requests and replies show them. */
import { T } from "./dsl.ts"
import { notificationPriorities, Priority, pushProviders } from "./notifications-fields.ts"
import { Dictionary, described, Id, Nullable, OneOf, Time } from "./types.ts"

const SubscriptionKeys = T.Object(
  {
    p256dh: T.String({
      minLength: 1,
      maxLength: 128,
      description: "Public key of the browser, in base64url",
    }),
    auth: T.String({
      minLength: 1,
      maxLength: 64,
      description: "Authentication secret of the browser, in base64url",
    }),
  },
  { additionalProperties: false },
)

export const deviceFields = {
  platform: T.Optional(
    OneOf(["web", "android", "ios"], {
      description: "Kind of device; derived from the provider when left out",
    }),
  ),
  provider: OneOf(pushProviders, { description: "Push service" }),
  token: T.Optional(
    T.String({ minLength: 1, maxLength: 4096, description: "Device token; for `fcm` and `apns`" }),
  ),
  subscription: T.Optional(
    T.Object(
      {
        endpoint: T.String({ minLength: 1, maxLength: 2048, description: "Address of the push service" }),
        expirationTime: T.Optional(Nullable(T.Number({ description: "As browsers send it; not used" }))),
        keys: described(SubscriptionKeys, "Keys of the subscription"),
      },
      {
        additionalProperties: false,
        description: "Result of `pushManager.subscribe`; for `webpush` and `unifiedpush`",
      },
    ),
  ),
  environment: T.Optional(
    OneOf(["production", "sandbox"], { description: "Environment of `apns`; `production` when left out" }),
  ),
  name: T.Optional(T.String({ maxLength: 100 })),
  locale: T.Optional(
    T.String({
      maxLength: 35,
      pattern: "^[A-Za-z0-9-]+$",
      description: "Language of the app, for your own use",
    }),
  ),
}

export const Device = T.Object({
  id: Id,
  user_id: described(Id, "Owner of the inbox: a person or a service key"),
  platform: OneOf(["web", "android", "ios"], { description: "Kind of device" }),
  provider: OneOf(pushProviders, { description: "Push service" }),
  environment: OneOf(["production", "sandbox"], { description: "Environment of `apns`" }),
  token_hint: T.String({ description: "Last characters of the token or endpoint" }),
  name: Nullable(T.String(), { description: "Name; null for none" }),
  locale: Nullable(T.String(), { description: "Language of the app; null if it was not given" }),
  active: T.Boolean({ description: "False once the push service rejected it for good" }),
  last_success_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last push that was accepted; null before the first",
  }),
  invalidated_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when the push service rejected it; null if it did not",
  }),
  invalid_reason: Nullable(T.String(), {
    description: "Why the push service rejected it; null if it did not",
  }),
  created_at: Time,
  updated_at: Time,
})

const channelSwitches = {
  in_app: T.Optional(T.Boolean({ description: "Store it in the inbox" })),
  push: T.Optional(T.Boolean({ description: "Push it to devices" })),
  email: T.Optional(T.Boolean({ description: "Send it by e-mail" })),
}
/** The title tells it from the object around it, for generators that name classes by place. */
const Switches = T.Object(channelSwitches, { additionalProperties: false, title: "ChannelSwitches" })
const ByLabel = (description: string) =>
  Dictionary(T.String({ maxLength: 128 }), T.Union([T.Boolean(), Switches]), {
    maxProperties: 200,
    description,
  })

const WallTime = T.String({ minLength: 5, maxLength: 5, description: "Time of day, as `22:00`" })

const QuietHours = T.Object(
  {
    start: WallTime,
    end: T.String({ ...WallTime, description: "Time of day; before `start`, of the next day" }),
    timezone: T.String({ minLength: 1, maxLength: 64, description: "IANA time zone, as `Europe/Berlin`" }),
    min_priority: T.Optional(
      T.String({
        enum: [...notificationPriorities],
        default: "urgent",
        description: "Lowest priority that is pushed all the same",
      }),
    ),
  },
  { additionalProperties: false },
)

export const preferenceFields = {
  channel_types: T.Optional(
    described(Switches, "Channels that are on, unless a type or category says otherwise"),
  ),
  categories: T.Optional(ByLabel("By category: all channels, or each of them")),
  types: T.Optional(ByLabel("By type; types override categories, and categories override `channel_types`")),
  quiet_hours: T.Optional(
    Nullable(QuietHours, {
      description: "Daily time in which only important notifications are pushed; null or left out: none",
    }),
  ),
  digest: T.Optional(
    T.Object(
      { email: OneOf(["off", "hourly", "daily"], { description: "How often; `off` sends each at once" }) },
      { additionalProperties: false, description: "Collects notifications into one mail" },
    ),
  ),
}

export const Preferences = T.Object({
  user_id: described(Id, "Owner of the inbox: a person or a service key"),
  channel_types: T.Object(
    {
      in_app: T.Boolean({ description: "Store it in the inbox" }),
      push: T.Boolean({ description: "Push it to devices" }),
      email: T.Boolean({ description: "Send it by e-mail" }),
    },
    { description: "Channels that are on, unless a type or category says otherwise" },
  ),
  categories: T.Record(T.String(), T.Unknown(), {
    description: "By category: all channels, or each of them",
  }),
  types: T.Record(T.String(), T.Unknown(), { description: "By type: all channels, or each of them" }),
  quiet_hours: Nullable(
    T.Object({
      start: T.String({ description: "Time of day, as `22:00`" }),
      end: T.String({ description: "Time of day; before `start`, of the next day" }),
      timezone: T.String({ description: "IANA time zone" }),
      min_priority: described(Priority, "Lowest priority that is pushed all the same"),
    }),
    { description: "Daily time in which only important notifications are pushed; null for none" },
  ),
  digest: T.Object(
    { email: OneOf(["off", "hourly", "daily"], { description: "How often; `off` sends each at once" }) },
    { description: "Collects notifications into one mail" },
  ),
  updated_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if they were never changed" }),
})

const Host = (description: string) => T.Optional(T.String({ minLength: 1, maxLength: 2048, description }))

export const providerFields = {
  webpush: T.Optional(
    T.Object(
      {
        subject: T.String({
          maxLength: 300,
          description: "Contact for push services: `mailto:` or `https://`",
        }),
      },
      { additionalProperties: false, description: "Web Push and UnifiedPush" },
    ),
  ),
  fcm: T.Optional(
    Nullable(
      T.Object(
        {
          project_id: T.String({
            minLength: 1,
            maxLength: 128,
            pattern: "^[A-Za-z0-9:._-]+$",
            description: "Firebase project",
          }),
          client_email: T.String({
            minLength: 3,
            maxLength: 254,
            description: "Address of the service account",
          }),
          private_key: T.String({
            minLength: 1,
            maxLength: 8192,
            description: "Private key in PEM, from the file of the service account",
          }),
          url: Host("Address of the service; `https://fcm.googleapis.com` when left out"),
          token_url: Host("Address for access tokens; `https://oauth2.googleapis.com/token` when left out"),
        },
        { additionalProperties: false },
      ),
      { description: "Firebase Cloud Messaging; null removes it" },
    ),
  ),
  apns: T.Optional(
    Nullable(
      T.Object(
        {
          team_id: T.String({
            minLength: 1,
            maxLength: 32,
            pattern: "^[A-Za-z0-9]+$",
            description: "Apple's id of the team",
          }),
          key_id: T.String({
            minLength: 1,
            maxLength: 32,
            pattern: "^[A-Za-z0-9]+$",
            description: "Apple's id of the key",
          }),
          private_key: T.String({
            minLength: 1,
            maxLength: 8192,
            description: "Private key in PEM, from the .p8 file",
          }),
          topic: T.String({ minLength: 1, maxLength: 255, description: "Bundle id of the app" }),
          url: Host("Address of the service; Apple's for the environment of the device when left out"),
        },
        { additionalProperties: false },
      ),
      { description: "Apple Push Notification service; null removes it" },
    ),
  ),
}

export const Providers = T.Object({
  webpush: T.Object(
    {
      configured: T.Boolean({ description: "True if pushes can be sent" }),
      subject: T.String({ description: "Contact for push services" }),
      public_key: T.String({ description: "VAPID public key" }),
    },
    { description: "Web Push and UnifiedPush" },
  ),
  fcm: T.Object(
    {
      configured: T.Boolean({ description: "True if pushes can be sent" }),
      project_id: Nullable(T.String(), { description: "Firebase project; null if it is not configured" }),
      client_email: Nullable(T.String(), { description: "Address of the service account" }),
    },
    { description: "Firebase Cloud Messaging" },
  ),
  apns: T.Object(
    {
      configured: T.Boolean({ description: "True if pushes can be sent" }),
      team_id: Nullable(T.String(), { description: "Apple's id of the team; null if it is not configured" }),
      key_id: Nullable(T.String(), { description: "Apple's id of the key; null if it is not configured" }),
      topic: Nullable(T.String(), { description: "Bundle id of the app; null if it is not configured" }),
    },
    { description: "Apple Push Notification service" },
  ),
})
