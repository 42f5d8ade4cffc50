import type { areas, Output, RecipientStatus } from "@svc/contract"
import { toIso } from "../../../kernel/to-iso.ts"
import type { AcceptedMail } from "./accept.ts"
import { shown } from "./addresses.ts"
import type { MessageRow, RecipientRow } from "./store.ts"

type Specs = typeof areas.email.specs
export type Message = Output<Specs["cancelMessage"]>
export type Accepted = Output<Specs["sendRaw"]>

const ENDED: ReadonlySet<RecipientStatus> = new Set<RecipientStatus>([
  ...(["delivered", "bounced", "complained", "failed", "suppressed", "cancelled"] as const),
])

/** One word for what became of all recipients; `now` tells what is still to come from what is under way. */
export const statusOf = (
  scheduledAt: Date | null,
  statuses: readonly RecipientStatus[],
  now: Date,
): Message["status"] => {
  if (statuses.some(status => !ENDED.has(status)))
    return scheduledAt !== null && scheduledAt > now ? "scheduled" : "queued"
  const kinds = new Set(statuses)
  const [only] = kinds
  if (kinds.size === 1 && only !== undefined && only !== "queued" && only !== "delayed") return only
  if (kinds.has("delivered")) return "partially_delivered"
  return (["complained", "bounced", "failed", "cancelled"] as const).find(kind => kinds.has(kind)) ?? "failed"
}

export const toMessage = (row: MessageRow, recipients: readonly RecipientRow[], now: Date): Message => ({
  id: row.id,
  message_id: row.message_id,
  status: statusOf(
    row.scheduled_at,
    recipients.map(({ status }) => status),
    now,
  ),
  from: shown({ email: row.from_address, name: row.from_name }),
  subject: row.subject,
  template: row.template,
  tags: Object.entries(row.tags).map(([name, value]) => ({ name, value })),
  recipients: recipients.map(recipient => ({
    email: recipient.address,
    kind: recipient.kind as "to" | "cc" | "bcc",
    status: recipient.status,
    attempts: recipient.attempts,
    captured: recipient.captured_at !== null,
    last_error: recipient.last_error,
    updated_at: recipient.updated_at.toISOString(),
  })),
  scheduled_at: toIso(row.scheduled_at),
  accepted_at: row.created_at.toISOString(),
})

export const toAccepted = ({ message, recipients, sends }: AcceptedMail): Accepted => ({
  id: message.id,
  message_id: message.message_id,
  status: sends === 0 ? "suppressed" : message.scheduled_at ? "scheduled" : "queued",
  accepted_at: message.created_at.toISOString(),
  recipients: recipients.map(({ address, status }) => ({
    email: address,
    status: status === "suppressed" ? status : "queued",
  })),
})
