import { area, T } from "./dsl.ts"
import { Marked, Notification, notificationFilters, Sent, sendFields, Whose } from "./notifications-fields.ts"
import {
  Device,
  deviceFields,
  Preferences,
  Providers,
  preferenceFields,
  providerFields,
} from "./notifications-setup-fields.ts"
import { described, Id, LastEvent, Page, pageQuery, Time } from "./types.ts"

/** Errors of operations that can name another inbox. */
const WHOSE_FAULTS = ["member_not_found", "role_insufficient", "organization_reach_required"] as const

const WhoseQuery = T.Object(Whose)
const Named = T.Object({ id: Id })

const READ = { scope: "notifications:read", effect: "read" } as const
const WRITE = { scope: "notifications:write", effect: "write" } as const

/** Operations that change one mark of a notification. */
const MARK = {
  ...WRITE,
  idempotency: "natural",
  params: Named,
  query: WhoseQuery,
  replies: { 200: Marked },
  faults: ["notification_not_found", "member_not_found", "role_insufficient"],
} as const

export const notifications = area(
  "notifications",
  {
    title: "Notifications",
    summary: "Messages to people, in the app and on their devices",
    project: "optional",
    belongs: "caller",
  },
  {
    list: {
      ...READ,
      id: "listNotifications",
      http: "GET /v1/notifications",
      summary: "List the notifications of an inbox",
      description:
        "A person has an inbox in each organization; a personal key reads the inbox of its person, and any other key has one " +
        "of its own. A key bound to a project sees notifications of that project, and in its own inbox also those of no project; " +
        "devices and preferences of others need a key of the whole organization.",
      query: T.Object(notificationFilters),
      replies: { 200: Page(Notification) },
      faults: ["member_not_found", "role_insufficient"],
    },
    send: {
      ...WRITE,
      id: "sendNotification",
      http: "POST /v1/notifications",
      summary: "Send a notification",
      description:
        "It is in the recipients' inboxes when the reply is sent, and is then pushed to their devices. What the preferences " +
        "of a recipient exclude is not sent.",
      body: T.Object(sendFields),
      aliases: { user_id: "to", message: "body" },
      replies: { 200: Sent },
      faults: ["member_not_found", "invalid_parameter"],
      example: {
        type: "build.failed",
        category: "builds",
        title: "The build has failed",
        body: "web, commit 4f2a91c",
        action_url: "https://example.com/builds/42",
        priority: "high",
      },
    },
    unreadCount: {
      ...READ,
      id: "getUnreadCount",
      http: "GET /v1/notifications/unread-count",
      summary: "Count the unread notifications of an inbox",
      query: WhoseQuery,
      replies: {
        200: T.Object({
          unread_count: T.Integer({ description: "Notifications that are neither read nor archived" }),
        }),
      },
      faults: ["member_not_found", "role_insufficient"],
    },
    readAll: {
      ...WRITE,
      id: "markAllNotificationsRead",
      http: "POST /v1/notifications/read-all",
      summary: "Mark all notifications of an inbox as read",
      idempotency: "natural",
      query: WhoseQuery,
      body: T.Object({
        category: T.Optional(
          T.String({ minLength: 1, maxLength: 64, description: "Only notifications of this category" }),
        ),
        before: T.Optional(described(Time, "Only notifications created before this RFC 3339 time")),
      }),
      replies: {
        200: T.Object({ updated: T.Integer({ description: "Notifications that were unread before" }) }),
      },
      faults: ["member_not_found", "role_insufficient"],
      example: {},
    },
    stream: {
      ...READ,
      extension: true,
      id: "streamNotifications",
      http: "GET /v1/notifications/stream",
      summary: "Follow an inbox live, by server-sent events",
      description:
        "`notification` has a notification as data, after a reconnection those since `Last-Event-ID`; " +
        "`unread_count` comes first and whenever it changes. A comment every 15 seconds keeps the connection open.",
      content: { reply: "sse" },
      headers: LastEvent,
      query: WhoseQuery,
      replies: { 200: T.String() },
      faults: ["member_not_found", "role_insufficient", "rate_limited"],
    },
    get: {
      ...READ,
      id: "getNotification",
      http: "GET /v1/notifications/{id}",
      summary: "Show a notification and its deliveries",
      params: Named,
      query: WhoseQuery,
      replies: { 200: Notification },
      faults: ["notification_not_found", "member_not_found", "role_insufficient"],
    },
    read: {
      ...MARK,
      id: "markNotificationRead",
      http: "POST /v1/notifications/{id}/read",
      summary: "Mark a notification as read",
    },
    unread: {
      ...MARK,
      extension: true,
      id: "markNotificationUnread",
      http: "POST /v1/notifications/{id}/unread",
      summary: "Mark a notification as not read",
    },
    seen: {
      ...MARK,
      extension: true,
      id: "markNotificationSeen",
      http: "POST /v1/notifications/{id}/seen",
      summary: "Mark a notification as seen, which is less than read",
    },
    archive: {
      ...MARK,
      extension: true,
      id: "archiveNotification",
      http: "POST /v1/notifications/{id}/archive",
      summary: "Archive a notification; it no longer counts as unread",
    },
    listDevices: {
      ...READ,
      extension: true,
      id: "listNotificationDevices",
      http: "GET /v1/notifications/devices",
      summary: "List the devices of an inbox",
      query: T.Object({ ...Whose, ...pageQuery }),
      replies: { 200: Page(Device) },
      faults: [...WHOSE_FAULTS],
    },
    registerDevice: {
      ...WRITE,
      id: "registerNotificationDevice",
      http: "POST /v1/notifications/devices",
      summary: "Register a device to push to",
      description:
        "Registering the same token or endpoint again updates the device: its other fields are replaced, it is active again, and it " +
        "belongs to the inbox it was last registered for.",
      idempotency: "natural",
      query: WhoseQuery,
      body: T.Object(deviceFields),
      replies: {
        200: T.Object({
          ...Device.properties,
          vapid_public_key: T.Optional(
            T.String({ description: "VAPID public key of the organization, for `webpush`" }),
          ),
        }),
      },
      faults: [...WHOSE_FAULTS, "invalid_parameter", "missing_parameter"],
      example: {
        provider: "webpush",
        name: "Firefox",
        subscription: {
          endpoint: "https://push.example.com/send/7f2a",
          keys: {
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            auth: "BTBZMqHH6r4Tts7J_aSIgg",
          },
        },
      },
    },
    unregisterDevice: {
      scope: "notifications:write",
      effect: "destroy",
      id: "unregisterNotificationDevice",
      http: "DELETE /v1/notifications/devices/{device_id}",
      summary: "Unregister a device; nothing is pushed to it any more",
      params: T.Object({ device_id: Id }),
      query: WhoseQuery,
      replies: { 200: Device },
      faults: ["device_not_found", ...WHOSE_FAULTS],
    },
    webPushKey: {
      ...READ,
      extension: true,
      belongs: "organization",
      id: "getWebPushKey",
      http: "GET /v1/notifications/web-push-key",
      summary: "Show the key that browsers subscribe with",
      description:
        "`applicationServerKey` of `pushManager.subscribe`: the organization's VAPID public key. The first call creates it, which a " +
        "read-only key may not do.",
      replies: { 200: T.Object({ public_key: T.String({ description: "65 bytes in base64url" }) }) },
      faults: ["key_read_only"],
    },
    getPreferences: {
      ...READ,
      id: "getNotificationPreferences",
      http: "GET /v1/notifications/preferences",
      summary: "Show the notification preferences of a recipient",
      query: WhoseQuery,
      replies: { 200: Preferences },
      faults: [...WHOSE_FAULTS],
    },
    updatePreferences: {
      ...WRITE,
      id: "updateNotificationPreferences",
      http: "PUT /v1/notifications/preferences",
      summary: "Replace the notification preferences of a recipient",
      description:
        "All fields are replaced; fields that are left out get their defaults, which is to get everything.",
      idempotency: "natural",
      query: WhoseQuery,
      body: T.Object(preferenceFields),
      replies: { 200: Preferences },
      faults: [...WHOSE_FAULTS, "invalid_parameter", "not_implemented"],
      example: {
        categories: { builds: { push: false }, marketing: false },
        quiet_hours: { start: "22:00", end: "07:00", timezone: "Europe/Berlin" },
      },
    },
    getProviders: {
      ...READ,
      extension: true,
      belongs: "organization",
      id: "getNotificationProviders",
      http: "GET /v1/notifications/providers",
      summary: "Show the push services that the organization has configured",
      replies: { 200: Providers },
      faults: ["key_read_only"],
    },
    updateProviders: {
      ...WRITE,
      extension: true,
      belongs: "organization",
      id: "updateNotificationProviders",
      http: "PUT /v1/notifications/providers",
      summary: "Set the credentials of push services",
      description:
        "Fields that are left out do not change, and null removes one. Keys are encrypted at rest and not returned.",
      idempotency: "natural",
      body: T.Object(providerFields),
      replies: { 200: Providers },
      faults: ["invalid_parameter", "role_insufficient"],
      example: { webpush: { subject: "mailto:ops@example.com" } },
    },
  },
)
