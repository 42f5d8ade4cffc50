import type { NotificationChannel, NotificationPriority } from "@svc/contract"
import { afterCommit, type Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { ENQUEUE_MAX, type Jobs } from "../../kernel/jobs/jobs.ts"
import type { Live } from "./live.ts"
import { type Decision, decide, NO_PREFERENCES } from "./rules.ts"
import { sendingStore } from "./sending-store.ts"
import type { DeliveryRow } from "./store.ts"

export const PUSH_QUEUE = "notifications.push"

/** The payload of a push job. */
export interface PushJob {
  readonly organizationId: string
  readonly deliveryId: string
}

export interface Sending {
  readonly organizationId: string
  readonly projectId: string | null
  /** Inboxes, each once. */
  readonly recipients: readonly string[]
  readonly channels: readonly NotificationChannel[]
  readonly type: string | null
  readonly category: string | null
  readonly title: string
  readonly body: string
  readonly data: Readonly<Record<string, unknown>>
  readonly actionUrl: string | null
  readonly priority: NotificationPriority
  readonly collapseKey: string | null
  readonly ttlSeconds: number | undefined
  readonly now: Date
}

export interface SentTo {
  readonly id: string
  readonly status: "accepted"
  readonly duplicate: boolean
  readonly recipient_count: number
  readonly channels: {
    in_app?: "stored" | "skipped"
    push?: "queued" | "skipped" | "no_devices"
    email?: "unavailable"
  }
}

type Decisions = ReadonlyMap<string, Decision>

const MAIL_MISSING = "no mail is sent for notifications on this installation"

/** What becomes of it on the channels outside the inbox, one row a recipient and device. */
const deliveriesOf = (
  { organizationId, channels, now }: Sending,
  notificationId: string,
  decided: { readonly push: Decisions; readonly email: Decisions },
  devices: readonly { readonly id: string; readonly user_id: string }[],
): DeliveryRow[] => {
  const row = (user_id: string, channel: string, status: string, more: Partial<DeliveryRow> = {}) => ({
    ...{ id: newId(now.getTime()), organization_id: organizationId, user_id, channel, status, at: now },
    ...{ notification_id: notificationId, device_id: null, provider_status: null, reason: null },
    ...more,
  })
  const skipped = (channel: "push" | "email") =>
    [...decided[channel]].flatMap(([userId, decision]) =>
      decision === "send" ? [] : [row(userId, channel, decision)],
    )
  const mails = [...decided.email].filter(([, decision]) => decision === "send")
  return [
    ...(channels.includes("push") ? skipped("push") : []),
    ...devices.map(({ id, user_id }) => row(user_id, "push", "queued", { device_id: id })),
    ...(channels.includes("email") ? skipped("email") : []),
    ...mails.map(([userId]) => row(userId, "email", "unavailable", { reason: MAIL_MISSING })),
  ]
}

const summaryOf = (
  channels: readonly NotificationChannel[],
  isStored: boolean,
  isPushWanted: boolean,
  isPushed: boolean,
): SentTo["channels"] => ({
  ...(channels.includes("in_app") && { in_app: isStored ? ("stored" as const) : ("skipped" as const) }),
  ...(channels.includes("push") && {
    push: isPushed ? ("queued" as const) : isPushWanted ? ("no_devices" as const) : ("skipped" as const),
  }),
  ...(channels.includes("email") && { email: "unavailable" as const }),
})

/** Puts notifications into inboxes and on their way, in the transaction of the caller. */
export const createSender = ({ jobs, live }: { readonly jobs: Jobs; readonly live: Live }) => {
  const enqueue = async (db: Db, organizationId: string, rows: readonly DeliveryRow[]) => {
    const queued = rows.filter(({ status }) => status === "queued")
    for (let start = 0; start < queued.length; start += ENQUEUE_MAX) {
      const part = queued.slice(start, start + ENQUEUE_MAX).map(({ id, device_id }) => ({
        queue: PUSH_QUEUE,
        tenantId: organizationId,
        payload: { organizationId, deliveryId: id } satisfies PushJob,
        targetKey: device_id ?? id,
      }))
      await jobs.enqueue(db, part)
    }
  }

  return async (db: Db, sending: Sending): Promise<SentTo> => {
    const { organizationId, projectId, channels, collapseKey, ttlSeconds, now } = sending
    // One order for all, in which the inboxes are locked.
    const recipients = [...sending.recipients].sort()
    const store = sendingStore(db)
    const id = newId(now.getTime())
    const preferences = await store.preferences(organizationId, recipients)
    const decide1 = (channel: NotificationChannel): Decisions =>
      new Map(
        recipients.map(userId => [
          userId,
          channels.includes(channel)
            ? decide(preferences.get(userId) ?? NO_PREFERENCES, sending, channel, now)
            : "skipped_preference",
        ]),
      )
    const inApp = decide1("in_app")
    const push = decide1("push")
    const email: Decisions = channels.includes("email") ? decide1("email") : new Map()

    const seqs = await store.nextSeqs(organizationId, recipients)
    if (collapseKey !== null) await store.collapse(organizationId, recipients, collapseKey, projectId, now)
    const { type, category, title, body, priority } = sending
    await store.insert(
      {
        ...{ id, organization_id: organizationId, project_id: projectId, type, category, title, body, priority },
        ...{ data: sending.data as never, action_url: sending.actionUrl, collapse_key: collapseKey },
        created_at: now,
        expires_at: ttlSeconds === undefined ? null : new Date(now.getTime() + ttlSeconds * 1_000),
      },
      recipients.map(userId => ({
        userId,
        seq: seqs.get(userId) ?? 0,
        inApp: inApp.get(userId) === "send",
      })),
    )
    const pushed = recipients.filter(userId => push.get(userId) === "send")
    const devices = pushed.length === 0 ? [] : await store.devices(organizationId, pushed)
    const rows = deliveriesOf(sending, id, { push, email }, devices)
    await store.insertDeliveries(rows)
    await enqueue(db, organizationId, rows)
    afterCommit(db, () => live.tell(recipients))
    const isStored = recipients.some(userId => inApp.get(userId) === "send")
    return {
      ...{ id, status: "accepted", duplicate: false, recipient_count: recipients.length },
      channels: summaryOf(channels, isStored, pushed.length > 0, devices.length > 0),
    }
  }
}

export type Sender = ReturnType<typeof createSender>
