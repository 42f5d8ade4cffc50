/** Delivers accepted mails, recipient by recipient, and records what becomes of each. */

import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Job, Jobs, Outcome } from "../../../kernel/jobs/jobs.ts"
import type { MailOutcome, MailPort, MailReply, Mails } from "../../../ports/mail/port.ts"
import type { EmailDelivery, SendingSettings } from "../delivery.ts"
import { DELIVER_QUEUE, type DeliverPayload } from "./accept.ts"
import { contentOf, mailOf } from "./content.ts"
import { signMail } from "./dkim.ts"
import { createDueReader, type Due } from "./due.ts"
import { bounceOf, delayAfter, isLongDelayed } from "./retries.ts"
import { createSettling, type Step } from "./settling.ts"

export interface DeliverNeeds {
  readonly atRest: AtRest
  readonly database: Database
  readonly clock: Clock
  readonly jobs: Jobs
  readonly mails: Mails
  readonly delivery: EmailDelivery
  readonly platformEvents: PlatformEvents
}

const CONCURRENCY = 20
const PER_TARGET = 4
const TIMEOUT_MS = 300_000

const replyDetails = (reply: MailReply | null) =>
  reply === null
    ? {}
    : {
        ...{ smtp_code: reply.code, enhanced_code: reply.enhancedCode },
        ...{ remote_mx: reply.host, remote_ip: reply.address, response: reply.response },
      }

/** What follows from an outcome. `attempt` counts from 1; the mail was first due at `dueAt`. */
const stepOf = (
  outcome: MailOutcome,
  facts: {
    readonly attempt: number
    readonly now: Date
    readonly dueAt: Date
    readonly by: string
    readonly wasDelayed: boolean
  },
): Step => {
  const { attempt, now, dueAt, by, wasDelayed } = facts
  const details = { ...replyDetails(outcome.reply), attempt, via: by }
  if (outcome.kind === "accepted") {
    const isCaptured = by === "mailbox"
    const delivered = isCaptured ? { ...details, captured: true } : details
    return {
      ...{ status: "delivered", capturedAt: isCaptured ? now : null, again: null },
      events: [
        ["sent", delivered],
        ["delivered", delivered],
      ],
    }
  }
  if (outcome.kind === "rejected") {
    const bounced = { ...details, bounce: bounceOf(outcome.reply) }
    return { status: "bounced", capturedAt: null, again: null, events: [["bounced", bounced]] }
  }
  const delayMs = delayAfter(attempt)
  if (delayMs === undefined)
    return { status: "failed", capturedAt: null, again: null, events: [["failed", details]] }
  const isNews = !wasDelayed && isLongDelayed(now.getTime() - dueAt.getTime())
  return {
    ...{ status: wasDelayed || isNews ? "delayed" : "queued", capturedAt: null },
    again: new Date(now.getTime() + delayMs),
    events: isNews ? [["delivery_delayed", details]] : [],
  }
}

const createDeliver = (needs: DeliverNeeds) => {
  const { clock, mails, delivery } = needs
  const find = createDueReader(needs)
  const settle = createSettling(needs)

  const portOf = ({ mode, relay, maxPerSecond }: SendingSettings): MailPort => {
    if (mode === "relay" && relay) return mails.relay({ ...relay, maxPerSecond })
    return mode === "direct" ? (mails.direct ?? mails.provider) : mails.provider
  }

  const attempt = async ({ message, recipient, attachments, settings, signer }: Due) => {
    const of = { organizationId: message.organization_id, recipientId: recipient.id }
    const content = await contentOf(delivery, message, recipient)
    const raw = await mailOf(message, content, attachments)
    const signed = signer ? await signMail(raw, signer, Math.floor(clock.now() / 1000)) : raw
    const sender = (signer && (await delivery.returnPath(of, signer))) ?? message.from_address
    const port = portOf(settings)
    const outcome = await port.send({ sender, recipient: recipient.address, content: signed })
    return { outcome, by: port.capabilities.by }
  }

  return async ({ tenantId, payload }: Job<DeliverPayload>): Promise<Outcome | undefined> => {
    const due = tenantId === null ? undefined : await find({ ...payload, organizationId: tenantId })
    if (!due) return undefined
    const { message, recipient } = due
    const { outcome, by } = await attempt(due)
    const now = new Date(clock.now())
    const step = stepOf(outcome, {
      ...{ attempt: recipient.attempts + 1, now, by, wasDelayed: recipient.status === "delayed" },
      dueAt: message.scheduled_at ?? message.created_at,
    })
    await settle({ message, recipient, outcome, step, now })
    return step.again ? { kind: "again", at: step.again } : undefined
  }
}

/** Makes this process deliver. The attempts are counted with the recipient; the queue's own are for our own failures. */
export const defineDelivery = (needs: DeliverNeeds): void => {
  needs.jobs.define<DeliverPayload>({
    ...{ name: DELIVER_QUEUE, concurrency: CONCURRENCY, perTargetConcurrency: PER_TARGET },
    ...{ timeoutMs: TIMEOUT_MS, retries: [5_000, 60_000, 300_000, 1_800_000, 7_200_000, 14_400_000] },
    run: createDeliver(needs),
  })
}
