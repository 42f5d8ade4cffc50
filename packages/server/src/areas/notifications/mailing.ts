import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { QueueDefinition } from "../../kernel/jobs/jobs.ts"
import { composeMime } from "../../kernel/mime.ts"
import type { MailPort } from "../../ports/mail/port.ts"
import { settleDelivery } from "./delivery-store.ts"
import { type DeliveryJob, MAIL_QUEUE } from "./sending.ts"

/** Over a day, as mail servers that are down come back. */
const RETRIES_MS = [60_000, 5 * 60_000, 30 * 60_000, 3_600_000, 4 * 3_600_000, 8 * 3_600_000]
const SUBJECT_LENGTH_MAX = 200

export interface MailingNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly mail: MailPort
  readonly mailFrom: string
  readonly baseUrl: string
}

/** A mail that still waits, with the address of its recipient, who is a member still. */
const find = (db: Db, { organizationId, deliveryId }: DeliveryJob) =>
  db
    .selectFrom("notifications.deliveries as delivery")
    .innerJoin("notifications.messages as message", "message.id", "delivery.notification_id")
    .innerJoin("core.members as member", join =>
      join
        .onRef("member.organization_id", "=", "delivery.organization_id")
        .onRef("member.user_id", "=", "delivery.user_id"),
    )
    .innerJoin("core.users as user", "user.id", "member.user_id")
    .where("delivery.organization_id", "=", organizationId)
    .where("delivery.id", "=", deliveryId)
    .where("delivery.status", "=", "queued")
    .selectAll("message")
    .select("user.email")
    .executeTakeFirst()

type NotificationMail = NonNullable<Awaited<ReturnType<typeof find>>>

const compose = (
  found: NotificationMail,
  deliveryId: string,
  { mailFrom, baseUrl }: MailingNeeds,
): Promise<Buffer> => {
  const { action_url, body, title } = found
  const link = action_url?.startsWith("/") ? `${baseUrl}${action_url}` : action_url
  return composeMime({
    // The same at each attempt, so that a second copy can be told from a second mail.
    messageId: `<${deliveryId}@${mailFrom.split("@")[1] ?? "localhost"}>`,
    ...{ from: mailFrom, to: found.email, subject: title.slice(0, SUBJECT_LENGTH_MAX) },
    text: [body === "" ? title : body, ...(link ? ["", link] : [])].join("\n"),
    // RFC 3834: suppresses automatic replies.
    headers: { "Auto-Submitted": "auto-generated" },
    date: found.created_at,
  })
}

/** Mails notifications to the members who want them so. */
export const mailQueue = (needs: MailingNeeds): QueueDefinition<DeliveryJob> => {
  const { db, clock, mail, mailFrom } = needs
  const settle = (job: DeliveryJob, status: string, reason: string | null, code: number | null = null) =>
    settleDelivery(db, job, { status, reason, provider_status: code, at: new Date(clock.now()) })

  return {
    name: MAIL_QUEUE,
    concurrency: 4,
    retries: RETRIES_MS,
    async run({ payload, isLastAttempt }) {
      const found = await find(db, payload)
      if (!found) return undefined
      if (found.expires_at && found.expires_at.getTime() <= clock.now()) {
        await settle(payload, "expired", null)
        return undefined
      }
      const content = await compose(found, payload.deliveryId, needs)
      const outcome = await mail.send({ sender: mailFrom, recipient: found.email, content })
      const { code = null, response = "" } = outcome.reply ?? {}
      if (outcome.kind === "deferred" && !isLastAttempt) throw new Error(response)
      const isTaken = outcome.kind === "accepted"
      await settle(payload, isTaken ? "sent" : "failed", isTaken ? null : response, code)
      return undefined
    },
    async onDead({ payload }, error) {
      await settle(payload, "failed", error)
    },
  }
}
