/** Valid inputs of the operations of notifications, for the tests that hold for every operation. */
import { randomUUID } from "node:crypto"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const newNotification = async ({ key }: SampleWorld) => ({
  id: (await key.notifications.send({ title: "Hello" })).id,
})

export const samples = {
  "notifications.send": async () => ({ title: "Hello" }),
  "notifications.get": newNotification,
  "notifications.read": newNotification,
  "notifications.unread": newNotification,
  "notifications.seen": newNotification,
  "notifications.archive": newNotification,
  "notifications.readAll": async () => ({}),
  "notifications.registerDevice": async () => ({ provider: "fcm", token: randomUUID() }),
  "notifications.unregisterDevice": async ({ key }) => ({
    device_id: (await key.notifications.registerDevice({ provider: "fcm", token: randomUUID() })).id,
  }),
  "notifications.updatePreferences": async () => ({ categories: { builds: false } }),
  "notifications.updateProviders": async () => ({ webpush: { subject: "mailto:ops@example.com" } }),
} satisfies Readonly<Record<string, Sample>>
