/** Takes mails: checks who may send what, and stores them with the work of delivering them. */
import { endOfQuota, type PlanName } from "@svc/contract"
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"
import type { EmailDelivery, SendingSettings } from "../delivery.ts"
import { domainOf, type MailAddress } from "./addresses.ts"
import { encryptAttachments, encryptMail } from "./at-rest.ts"
import { recordEventsOf, subjectOf } from "./events.ts"
import type { MailAttachment } from "./mime.ts"
import { type MessageRow, messageStore, type RecipientRow } from "./store.ts"

export const DELIVER_QUEUE = "email.deliver"

export interface DeliverPayload {
  readonly recipientId: string
  readonly emailId: string
}

/** A mail as its sender wants it, rendered. */
export interface NewMail {
  /** Where the caller must be able to find it again; a new one when left out. */
  readonly id?: string
  readonly organization: { readonly id: string; readonly plan: PlanName }
  readonly projectId: string | null
  /** Undefined: the settings' sender, or the platform's. */
  readonly from: MailAddress | undefined
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly bcc: readonly MailAddress[]
  readonly replyTo: MailAddress | null
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly template: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
  readonly attachments: readonly MailAttachment[]
  readonly scheduledAt: Date | null
  readonly trackOpens: boolean | undefined
  readonly trackClicks: boolean | undefined
  readonly bulk: boolean
}

export interface AcceptedMail {
  readonly message: MessageRow
  readonly recipients: readonly RecipientRow[]
  /** Those that are not suppressed: what is counted and charged. */
  readonly sends: number
}

export interface AcceptNeeds {
  readonly atRest: AtRest
  readonly jobs: Jobs
  readonly delivery: EmailDelivery
  readonly platformEvents: PlatformEvents
  /** Sender of mails for which nobody names another. */
  readonly mailFrom: string
}

const KINDS = ["to", "cc", "bcc"] as const

type Envelope = Pick<RecipientRow, "kind" | "address">

/** Whoever is named twice gets one mail. */
const envelopeOf = (mail: NewMail): Envelope[] => {
  const byAddress = new Map<string, Envelope>()
  for (const kind of KINDS)
    for (const { email } of mail[kind]) {
      const key = email.toLowerCase()
      if (!byAddress.has(key)) byAddress.set(key, { kind, address: email })
    }
  return [...byAddress.values()]
}

const admit = async (db: Db, { organization }: NewMail, sends: number, now: Date): Promise<void> => {
  if (sends === 0) return
  const limit = endOfQuota(organization.plan, "email_sends")
  const counted = await messageStore(db).countSends(organization.id, now, sends, limit !== null)
  if (limit !== null && counted > limit)
    throw fault("plan_limit_reached", { limit, resources: "e-mails a month" })
}

export const createAccept = ({ jobs, delivery, platformEvents, mailFrom, atRest }: AcceptNeeds) => {
  const senderOf = ({ from }: NewMail, { sender }: SendingSettings): MailAddress =>
    from ?? { email: sender.fromEmail ?? mailFrom, name: sender.fromName ?? "" }

  /** A relay of the organization's own answers for what it is given; all others send for domains that are proven. */
  const checkDomain = async (
    db: Db,
    { organization }: NewMail,
    settings: SendingSettings,
    domain: string,
  ) => {
    if (domain === domainOf(mailFrom)) return
    const { ownDomainDeliveryEnabled, mode, relay } = settings
    if (ownDomainDeliveryEnabled && mode === "relay" && relay) return
    const signer = ownDomainDeliveryEnabled && (await delivery.findSigner(organization.id, domain, db))
    if (!signer) throw fault("email_domain_not_enabled", { domain })
  }

  const rowsOf = (mail: NewMail, from: MailAddress, settings: SendingSettings, now: Date) => {
    const { organization, projectId, replyTo, id = newId(now.getTime()) } = mail
    const domain = domainOf(from.email)
    const toReply = settings.sender.replyTo
    const message: MessageRow = {
      ...{ id, organization_id: organization.id, project_id: projectId, domain },
      ...{ message_id: `<${id}@${domain}>`, from_address: from.email, from_name: from.name },
      ...{ to_addresses: mail.to, cc_addresses: mail.cc },
      reply_to: replyTo ?? (toReply === null ? null : { email: toReply, name: "" }),
      ...{ subject: mail.subject, template: mail.template, html: mail.html, text: mail.text },
      ...{ headers: mail.headers, tags: mail.tags, bulk: mail.bulk },
      track_opens: mail.trackOpens ?? settings.trackOpens,
      track_clicks: mail.trackClicks ?? settings.trackClicks,
      ...{ scheduled_at: mail.scheduledAt, created_at: now },
    }
    const attachments = mail.attachments.map(({ filename, contentType, contentId, content }, position) => ({
      ...{ organization_id: organization.id, email_id: id, position, filename, content },
      ...{ content_type: contentType, content_id: contentId },
    }))
    return { message, attachments }
  }

  /** All in the caller's transaction. Throws `email_domain_not_enabled` and `plan_limit_reached`. */
  return async (db: Db, mail: NewMail, now: Date): Promise<AcceptedMail> => {
    const { organization } = mail
    const settings = await delivery.settingsOf(organization.id, db)
    const from = senderOf(mail, settings)
    await checkDomain(db, mail, settings, domainOf(from.email))

    const { message, attachments } = rowsOf(mail, from, settings, now)
    const envelope = envelopeOf(mail)
    const addresses = envelope.map(({ address }) => address)
    const suppressed = await delivery.suppressed(db, organization.id, addresses)
    const recipients = envelope.map(
      ({ kind, address }, position): RecipientRow => ({
        ...{
          id: newId(now.getTime()),
          organization_id: organization.id,
          email_id: message.id,
          position,
          kind,
        },
        ...{ address, attempts: 0, last_error: null, captured_at: null, updated_at: now },
        status: suppressed.has(address.toLowerCase()) ? "suppressed" : "queued",
      }),
    )
    const queued = recipients.filter(({ status }) => status === "queued")
    await admit(db, mail, queued.length, now)
    await messageStore(db).insert(
      await encryptMail(atRest, message),
      recipients,
      await encryptAttachments(atRest, attachments),
    )
    const events = recipients
      .filter(({ status }) => status === "suppressed")
      .map(one => ({ subject: subjectOf(message, one), event: "suppressed" as const, details: {}, at: now }))
    await recordEventsOf(db, platformEvents, events)
    await jobs.enqueue(
      db,
      queued.map(({ id, address }) => ({
        ...{ queue: DELIVER_QUEUE, tenantId: organization.id, targetKey: domainOf(address) },
        payload: { recipientId: id, emailId: message.id } satisfies DeliverPayload,
        ...(mail.scheduledAt && { runAt: mail.scheduledAt }),
      })),
    )
    return { message, recipients, sends: queued.length }
  }
}

export type Accept = ReturnType<typeof createAccept>
