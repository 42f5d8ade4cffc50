import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import type { EmailDelivery, Recipient } from "../delivery.ts"
import { countEvents, recordEvents } from "../sending/events.ts"
import { bounceOf } from "../sending/retries.ts"
import type { SigningKeys } from "../tracking/signing-keys.ts"
import { readReturnPath } from "../tracking/tokens.ts"
import type { Report } from "./report.ts"

/** Whom mail that comes in is about, and what follows from it. */
export interface Intake {
  /** Undefined for an address that we never gave as a return path. */
  recipientOf(address: string): Promise<Recipient | undefined>
  /** Reports about a recipient that was reported already, or whose mail is not kept any more, change nothing. */
  take(recipient: Recipient, report: Report): Promise<void>
}

export interface IntakeNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly platformEvents: PlatformEvents
  readonly suppressAfter: EmailDelivery["suppressAfter"]
}

/** By the id alone, for a return path names nothing else; its signature is checked before it means anything. */
const findMail = (db: Db, recipientId: string) =>
  db
    .selectFrom("email.recipients as recipient")
    .innerJoin("email.messages as message", "message.id", "recipient.email_id")
    .innerJoin("email.domains as domain", join =>
      join
        .onRef("domain.organization_id", "=", "message.organization_id")
        .onRef("domain.domain", "=", "message.domain"),
    )
    .where("recipient.id", "=", recipientId)
    .select(["recipient.organization_id", "domain.domain", "domain.return_path"])
    .executeTakeFirst()

const lockRecipient = (tx: Db, { organizationId, recipientId }: Recipient) =>
  tx
    .selectFrom("email.recipients")
    .where("organization_id", "=", organizationId)
    .where("id", "=", recipientId)
    .select(["email_id", "address", "status"])
    .forUpdate()
    .executeTakeFirst()

type Status = "bounced" | "complained"

const setStatus = async (tx: Db, recipient: Recipient, status: Status, at: Date, error: string | null) => {
  await tx
    .updateTable("email.recipients")
    .set({ status, updated_at: at, ...(error !== null && { last_error: error }) })
    .where("organization_id", "=", recipient.organizationId)
    .where("id", "=", recipient.recipientId)
    .execute()
}

/** What a status of a recipient leaves to be reported: nobody bounces twice, and who complained did get the mail. */
const NEWS: Readonly<Record<Report["kind"], ReadonlySet<string>>> = {
  failed: new Set(["delivered", "delayed", "queued"]),
  delayed: new Set(["delivered"]),
  complaint: new Set(["delivered", "delayed", "queued"]),
}

export const createIntake = (needs: IntakeNeeds): Intake => {
  const { database, clock, keys, platformEvents, suppressAfter } = needs

  const takeFailure = async (
    tx: Db,
    recipient: Recipient,
    emailId: string,
    report: Exclude<Report, { kind: "complaint" }>,
    at: Date,
  ) => {
    const { enhancedCode, code, response, host } = report
    const details = { smtp_code: code, enhanced_code: enhancedCode, response, remote_mx: host, report: "dsn" }
    if (report.kind === "delayed") {
      // Its status stays, so this alone bounds what whoever holds the return path can write.
      if ((await countEvents(tx, recipient, emailId, "delivery_delayed")) > 0) return false
      await recordEvents(tx, platformEvents, [{ ...recipient, event: "delivery_delayed", details, at }])
      return false
    }
    const bounce = bounceOf({ code, enhancedCode, response, host, address: null })
    await setStatus(tx, recipient, "bounced", at, response)
    const event = { ...recipient, event: "bounced", details: { ...details, bounce }, at } as const
    await recordEvents(tx, platformEvents, [event])
    return bounce.type === "permanent"
  }

  const takeComplaint = async (tx: Db, recipient: Recipient, feedbackType: string, at: Date) => {
    await setStatus(tx, recipient, "complained", at, null)
    const details = { feedback_type: feedbackType, report: "arf" }
    await recordEvents(tx, platformEvents, [{ ...recipient, event: "complained", details, at }])
  }

  return {
    async recipientOf(address) {
      const at = address.lastIndexOf("@")
      const path = readReturnPath(address.slice(0, at))
      if (!path) return undefined
      const mail = await findMail(database.db, path.recipientId)
      if (!mail || address.slice(at + 1).toLowerCase() !== `${mail.return_path}.${mail.domain}`)
        return undefined
      const secret = await keys.find(mail.organization_id)
      if (!secret || !path.isSignedBy(secret)) return undefined
      return { organizationId: mail.organization_id, recipientId: path.recipientId }
    },

    take: (recipient, report) =>
      database.transaction(async tx => {
        const found = await lockRecipient(tx, recipient)
        if (!found || !NEWS[report.kind].has(found.status)) return
        const at = new Date(clock.now())
        const { organizationId } = recipient
        const about = { organizationId, address: found.address, emailId: found.email_id, at }
        if (report.kind === "complaint") {
          await takeComplaint(tx, recipient, report.feedbackType, at)
          await suppressAfter(tx, { ...about, kind: "complaint" })
        } else if (await takeFailure(tx, recipient, found.email_id, report, at)) {
          await suppressAfter(tx, { ...about, kind: "hard_bounce" })
        }
      }),
  }
}
