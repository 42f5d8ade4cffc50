import type { EmailEventKind } from "@svc/contract"
import type { Selectable } from "kysely"
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"
import { newId } from "../../../kernel/id.ts"
import type { Recipient } from "../delivery.ts"
import type { MessageRow, RecipientRow } from "./store.ts"

/** What happened to the mail of one recipient. */
export interface NewEmailEvent extends Recipient {
  readonly event: EmailEventKind
  readonly details: Readonly<Record<string, unknown>>
  readonly at: Date
}

/** Of one kind that are about one mail of one recipient. */
export const countEvents = async (
  db: Db,
  { organizationId, recipientId }: Recipient,
  emailId: string,
  event: EmailEventKind,
): Promise<number> => {
  const { number } = await db
    .selectFrom("email.events")
    .where("organization_id", "=", organizationId)
    .where("email_id", "=", emailId)
    .where("recipient_id", "=", recipientId)
    .where("event", "=", event)
    .select(({ fn }) => fn.countAll<number>().as("number"))
    .executeTakeFirstOrThrow()
  return number
}

/** Whose mail an event is about: what the events of one recipient have in common. */
type Subject = Omit<Selectable<Tables["email.events"]>, "id" | "event" | "details" | "created_at">

export interface EventOfSubject extends Pick<NewEmailEvent, "event" | "details" | "at"> {
  readonly subject: Subject
}

export const subjectOf = (message: MessageRow, recipient: Pick<RecipientRow, "id" | "address">): Subject => ({
  ...{ organization_id: message.organization_id, project_id: message.project_id, email_id: message.id },
  ...{ recipient_id: recipient.id, message_id: message.message_id, recipient: recipient.address },
  ...{ from_address: message.from_address, subject: message.subject, template: message.template },
  ...{ domain: message.domain, tags: message.tags },
})

const subjectsOf = (db: Db, organizationId: string, recipientIds: readonly string[]): Promise<Subject[]> =>
  db
    .selectFrom("email.recipients as recipient")
    .innerJoin("email.messages as message", "message.id", "recipient.email_id")
    .where("recipient.organization_id", "=", organizationId)
    .where("recipient.id", "in", [...recipientIds])
    .select([
      ...([
        "recipient.id as recipient_id",
        "recipient.address as recipient",
        "message.organization_id",
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

/** Records events and tells them to whoever listens. Call it with the transaction of their effect. */
export const recordEventsOf = async (
  db: Db,
  platformEvents: PlatformEvents,
  events: readonly EventOfSubject[],
): Promise<void> => {
  if (events.length === 0) return
  const rows = events.map(({ subject: { tags, ...subject }, event, details, at }) => ({
    ...{ id: newId(), ...subject, event },
    ...{ tags: JSON.stringify(tags), details: JSON.stringify(details), created_at: at },
  }))
  await db.insertInto("email.events").values(rows).execute()
  await platformEvents.emit(
    db,
    ...events.map(({ subject, event, details }) => ({
      ...{ organizationId: subject.organization_id, projectId: subject.project_id },
      type: `email.${event}` as const,
      data: {
        ...{ email_id: subject.email_id, recipient: subject.recipient, subject: subject.subject },
        ...{ template: subject.template, details },
      },
    })),
  )
}

/** Records events of one organization; those of recipients that are not there any more are passed over. */
export const recordEvents = async (
  db: Db,
  platformEvents: PlatformEvents,
  events: readonly NewEmailEvent[],
): Promise<void> => {
  const [first] = events
  if (!first) return
  const ids = [...new Set(events.map(({ recipientId }) => recipientId))]
  const subjects = await subjectsOf(db, first.organizationId, ids)
  const byId = new Map(subjects.map(subject => [subject.recipient_id, subject]))
  await recordEventsOf(
    db,
    platformEvents,
    events.flatMap(({ recipientId, event, details, at }) => {
      const subject = byId.get(recipientId)
      return subject ? [{ subject, event, details, at }] : []
    }),
  )
}
