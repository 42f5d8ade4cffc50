/** Writes what became of mails. */
import type { EmailEventKind, RecipientStatus } from "@svc/contract"
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import { createBatcher } from "../../../kernel/batcher.ts"
import type { Database, Tx } from "../../../kernel/db/database.ts"
import type { MailOutcome } from "../../../ports/mail/port.ts"
import type { EmailDelivery } from "../delivery.ts"
import { settleRecipients } from "./due-store.ts"
import { recordEventsOf, subjectOf } from "./events.ts"
import { bounceOf } from "./retries.ts"
import type { MessageRow, RecipientRow } from "./store.ts"

/** What follows from an attempt. */
export interface Step {
  readonly status: RecipientStatus
  readonly events: readonly (readonly [EmailEventKind, Readonly<Record<string, unknown>>])[]
  readonly capturedAt: Date | null
  readonly again: Date | null
}

export interface Attempted {
  readonly message: MessageRow
  readonly recipient: RecipientRow
  readonly outcome: MailOutcome
  readonly step: Step
  readonly now: Date
}

interface Needs {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly delivery: Pick<EmailDelivery, "suppressAfter">
}

const SETTLED_MAX = 100

const rowOf = ({ recipient, outcome, step, now }: Attempted) => ({
  ...{ organization_id: recipient.organization_id, id: recipient.id, status: step.status },
  ...{ attempts: recipient.attempts + 1, captured_at: step.capturedAt, updated_at: now },
  last_error: outcome.kind === "accepted" ? null : outcome.reply.response,
})

const eventsOf = ({ message, recipient, step, now }: Attempted) => {
  const subject = subjectOf(message, recipient)
  return step.events.map(([event, details]) => ({ subject, event, details, at: now }))
}

/** Attempts that end while others are being written share the next commit. */
export const createSettling = ({ database, platformEvents, delivery }: Needs) => {
  const write = async (tx: Tx, attempted: readonly Attempted[]) => {
    const settled = await settleRecipients(tx, attempted.map(rowOf))
    const held = attempted.filter(({ recipient }) => settled.has(recipient.id))
    await recordEventsOf(tx, platformEvents, held.flatMap(eventsOf))
    for (const { message, recipient, outcome, now } of held) {
      if (outcome.kind !== "rejected" || bounceOf(outcome.reply).type !== "permanent") continue
      const of = { organizationId: message.organization_id, emailId: message.id, at: now }
      await delivery.suppressAfter(tx, { ...of, address: recipient.address, kind: "hard_bounce" })
    }
  }

  const commit = (attempted: readonly Attempted[]) => database.transaction(tx => write(tx, attempted))

  return createBatcher({
    ...{ itemsMax: SETTLED_MAX, atOnceMax: 1 },
    async perform(attempted: readonly Attempted[]): Promise<readonly PromiseSettledResult<void>[]> {
      try {
        await commit(attempted)
        return attempted.map(() => ({ status: "fulfilled", value: undefined }))
      } catch (error) {
        if (attempted.length === 1) throw error
        // What cannot be written must not have others sent again.
        return Promise.allSettled(attempted.map(one => commit([one])))
      }
    },
  })
}
