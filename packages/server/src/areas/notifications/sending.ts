import type { NotificationChannel, NotificationPriority } from "@svc/contract"
import { afterCommit, type Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { ENQUEUE_MAX, type Jobs } from "../../kernel/jobs/jobs.ts"
import type { Notifier } from "../../kernel/notifier.ts"
import { type Decision, decide, NO_PREFERENCES } from "./rules.ts"
import { sendingStore } from "./sending-store.ts"
import type { DeliveryRow } from "./store.ts"

export const PUSH_QUEUE = "notifications.push"
export const MAIL_QUEUE = "notifications.mail"

/** The payload of a job that carries one delivery. */
export interface DeliveryJob {
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
    email?: "queued" | "skipped" | "no_address" | "unavailable"
  }
}

type Decisions = ReadonlyMap<string, Decision>

const NO_RELAY = "this installation sends no mail: SVC_SMTP_URL is not set"
const NO_ADDRESS = "a key has no address"

/** What becomes of it on the channels outside the inbox, one row a recipient and device. */
const deliveriesOf = (
  { organizationId, now }: Sending,
  notificationId: string,
  decided: { readonly push: Decisions; readonly email: Decisions },
  devices: readonly { readonly id: string; readonly user_id: string }[],
  /** Who can be mailed; undefined where no mail is sent. */
  addressed: ReadonlySet<string> | undefined,
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
    ...skipped("push"),
    ...devices.map(({ id, user_id }) => row(user_id, "push", "queued", { device_id: id })),
    ...skipped("email"),
    ...mails.map(([userId]) =>
      addressed?.has(userId)
        ? row(userId, "email", "queued")
        : row(userId, "email", "unavailable", { reason: addressed ? NO_ADDRESS : NO_RELAY }),
    ),
  ]
}

/** The best that became of it for any recipient. */
const summaryOf = (
  { channels }: Sending,
  inApp: Decisions,
  push: Decisions,
  email: Decisions,
  rows: readonly DeliveryRow[],
  sendsMail: boolean,
): SentTo["channels"] => {
  const isWanted = (decisions: Decisions) => [...decisions.values()].includes("send")
  const isQueued = (channel: string) => rows.some(row => row.channel === channel && row.status === "queued")
  const outcome = <None extends string>(channel: string, decisions: Decisions, none: None) =>
    isQueued(channel) ? "queued" : isWanted(decisions) ? none : "skipped"
  return {
    ...(channels.includes("in_app") && { in_app: isWanted(inApp) ? "stored" : "skipped" }),
    ...(channels.includes("push") && { push: outcome("push", push, "no_devices") }),
    ...(channels.includes("email") && {
      email: sendsMail ? outcome("email", email, "no_address") : "unavailable",
    }),
  }
}

/** Puts notifications into inboxes and on their way, in the transaction of the caller. */
export const createSender = (needs: {
  readonly jobs: Jobs
  readonly notifier: Notifier
  /** Whether mails leave this installation. */
  readonly sendsMail: boolean
}) => {
  const { jobs, notifier, sendsMail } = needs
  const enqueue = async (db: Db, organizationId: string, rows: readonly DeliveryRow[]) => {
    const queued = rows.filter(({ status }) => status === "queued")
    for (let start = 0; start < queued.length; start += ENQUEUE_MAX) {
      const part = queued.slice(start, start + ENQUEUE_MAX).map(({ id, channel, device_id }) => ({
        queue: channel === "push" ? PUSH_QUEUE : MAIL_QUEUE,
        tenantId: organizationId,
        payload: { organizationId, deliveryId: id } satisfies DeliveryJob,
        ...(device_id !== null && { targetKey: device_id }),
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
    const decisions = (channel: NotificationChannel): Decisions => {
      const asked = channels.includes(channel) ? recipients : []
      return new Map(
        asked.map(userId => [
          userId,
          decide(preferences.get(userId) ?? NO_PREFERENCES, sending, channel, now),
        ]),
      )
    }
    const [inApp, push, email] = [decisions("in_app"), decisions("push"), decisions("email")]

    const seqs = await store.nextSeqs(organizationId, recipients)
    if (collapseKey !== null) await store.collapse(organizationId, recipients, collapseKey, projectId, now)
    const { type, category, title, body, priority } = sending
    await store.insert(
      {
        ...{
          id,
          organization_id: organizationId,
          project_id: projectId,
          type,
          category,
          title,
          body,
          priority,
        },
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
    const mailed = recipients.filter(userId => email.get(userId) === "send")
    const addressed = sendsMail && mailed.length > 0 ? await store.people(organizationId, mailed) : undefined
    const rows = deliveriesOf(sending, id, { push, email }, devices, addressed)
    await store.insertDeliveries(rows)
    await enqueue(db, organizationId, rows)
    afterCommit(db, () => notifier.notify(recipients))
    return {
      ...{ id, status: "accepted", duplicate: false, recipient_count: recipients.length },
      channels: summaryOf(sending, inApp, push, email, rows, sendsMail),
    }
  }
}

export type Sender = ReturnType<typeof createSender>
