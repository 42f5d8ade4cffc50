import type { NotificationPriority, PlatformEventType } from "@svc/contract"
import type { PlatformEvent, PlatformEventListener } from "../../core/platform-events/platform-events.ts"
import type { Sender } from "./sending.ts"
import { sendingStore } from "./sending-store.ts"

interface Notice {
  readonly category: string
  readonly priority: NotificationPriority
  readonly title: string
  /** The fields of the event's data that say what it is about. */
  readonly about: readonly string[]
  /** The field that says which thing it is: a later notice takes the place of an unread one of the same thing. */
  readonly of: string
}

/** What the owners of an organization are told of by themselves: what stands still until somebody acts. */
const notices: { readonly [Type in PlatformEventType]?: Notice } = {
  "webhook.disabled": {
    category: "webhooks",
    priority: "high",
    title: "A webhook was switched off",
    about: ["url", "reason"],
    of: "webhook_id",
  },
  "webhook.failing": {
    category: "webhooks",
    priority: "default",
    title: "A webhook fails",
    about: ["url"],
    of: "webhook_id",
  },
  "build.failed": {
    category: "builds",
    priority: "high",
    title: "A build has failed",
    about: ["image"],
    of: "build_id",
  },
  "deployment.failed": {
    category: "deployments",
    priority: "high",
    title: "A deployment could not start",
    about: ["name"],
    of: "deployment_id",
  },
  "service.failed": {
    category: "deployments",
    priority: "high",
    title: "A run service could not start",
    about: ["name"],
    of: "service_id",
  },
  "cron.execution.failed": {
    category: "cron",
    priority: "default",
    title: "A scheduled run has failed",
    about: ["name", "error"],
    of: "schedule_id",
  },
  "email.domain.verified": {
    category: "email",
    priority: "low",
    title: "A sending domain is verified",
    about: ["domain"],
    of: "domain_id",
  },
  "email.domain.failed": {
    category: "email",
    priority: "default",
    title: "A sending domain could not be verified",
    about: ["domain"],
    of: "domain_id",
  },
  "key.expiring": {
    category: "keys",
    priority: "high",
    title: "A key expires within seven days",
    about: ["name", "prefix"],
    of: "key_id",
  },
  "billing.quota.reached": {
    category: "billing",
    priority: "high",
    title: "What the plan includes is used up",
    about: ["metric"],
    of: "metric",
  },
  "support.ticket.comment.created": {
    category: "support",
    priority: "default",
    title: "A ticket has a new comment",
    about: ["number"],
    of: "ticket_id",
  },
}

const BODY_LENGTH_MAX = 500

const bodyOf = ({ about }: Notice, data: PlatformEvent["data"]): string =>
  about
    .map(field => data[field])
    .filter(value => value !== null && value !== undefined)
    .map(String)
    .join(": ")
    .slice(0, BODY_LENGTH_MAX)

/** Puts what happens into the inboxes of an organization's owners. */
export const createNotices = (send: Sender): PlatformEventListener => ({
  wants: (_organizationId, type) => notices[type] !== undefined,

  async receive(db, events) {
    for (const event of events) {
      const notice = notices[event.type]
      if (!notice) continue
      const { organizationId, projectId, type, occurredAt, data } = event
      const recipients = await sendingStore(db).owners(organizationId)
      if (recipients.length === 0) continue
      await send(db, {
        ...{ organizationId, projectId, recipients, type, data, now: occurredAt },
        ...{ channels: ["in_app", "push"], category: notice.category, title: notice.title },
        ...{ body: bodyOf(notice, data), actionUrl: null, priority: notice.priority },
        ...{ collapseKey: `${type}:${String(data[notice.of])}`.slice(0, 255), ttlSeconds: undefined },
      })
    }
  },
})
