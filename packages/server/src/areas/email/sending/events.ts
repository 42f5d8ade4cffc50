import type { EmailEventKind } from "@svc/contract"
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"
import { newId } from "../../../kernel/id.ts"

export type EventRow = Tables["email.events"]

/** What happened to the mail of one recipient. */
export interface NewEmailEvent {
  readonly organizationId: string
  readonly recipientId: string
  readonly event: EmailEventKind
  readonly details: Readonly<Record<string, unknown>>
  readonly at: Date
}

/** Whose mail an event is about: what the events of one recipient have in common. */
const subjectsOf = (db: Db, organizationId: string, recipientIds: readonly string[]) =>
  db
    .selectFrom("email.recipients as recipient")
    .innerJoin("email.messages as message", "message.id", "recipient.email_id")
    .where("recipient.organization_id", "=", organizationId)
    .where("recipient.id", "in", [...recipientIds])
    .select([
      ...([
        "recipient.id",
        "recipient.address",
        "message.project_id",
        "message.id as email_id",
        "message.message_id",
        "message.from_address",
        "message.subject",
        "message.template",
        "message.domain",
        "message.tags",
      ] as const),
    ])
    .execute()

/**
 * Records events of one organization and tells them to whoever listens. Call it with the transaction of their effect.
 * Events of recipients that are not there any more are passed over. Gives how many were recorded.
 */
export const recordEvents = async (
  db: Db,
  platformEvents: PlatformEvents,
  events: readonly NewEmailEvent[],
): Promise<number> => {
  const [first] = events
  if (!first) return 0
  const ids = [...new Set(events.map(({ recipientId }) => recipientId))]
  const subjects = new Map(
    (await subjectsOf(db, first.organizationId, ids)).map(subject => [subject.id, subject]),
  )
  const rows = events.flatMap(({ organizationId, recipientId, event, details, at }) => {
    const subject = subjects.get(recipientId)
    if (!subject) return []
    const { id: recipient_id, address: recipient, tags, ...rest } = subject
    const row = {
      ...{ id: newId(), organization_id: organizationId, ...rest, recipient_id, recipient, event },
      ...{ tags: JSON.stringify(tags), details: JSON.stringify(details), created_at: at },
    }
    return [row]
  })
  if (rows.length === 0) return 0
  await db.insertInto("email.events").values(rows).execute()
  await platformEvents.emit(
    db,
    ...rows.map(row => ({
      organizationId: row.organization_id,
      projectId: row.project_id,
      type: `email.${row.event}` as const,
      data: {
        ...{ email_id: row.email_id, recipient: row.recipient, subject: row.subject, template: row.template },
        details: JSON.parse(row.details) as Record<string, unknown>,
      },
    })),
  )
  return rows.length
}
