/** The list of what became of mails. */
import { type areas, type EmailEventKind, type Output, page, pageOf } from "@svc/contract"
import type { Selectable } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"
import type { Handlers } from "../../../kernel/implement.ts"

type Specs = typeof areas.email.specs
type EmailEvent = Output<Specs["listEvents"]>["data"][number]
type EventRow = Selectable<Tables["email.events"]>

interface Filter {
  readonly organizationId: string
  /** Null: of all projects. */
  readonly projectId: string | null
  readonly emailId: string | undefined
  readonly recipient: string | undefined
  readonly event: EmailEventKind | undefined
  readonly since: string | undefined
  readonly until: string | undefined
}

const matching = (db: Db, filter: Filter) => {
  const { projectId, emailId, recipient, event, since, until } = filter
  return db
    .selectFrom("email.events as event")
    .where("event.organization_id", "=", filter.organizationId)
    .$if(projectId !== null, query => query.where("event.project_id", "=", projectId))
    .$if(emailId !== undefined, query => query.where("event.email_id", "=", emailId ?? ""))
    .$if(recipient !== undefined, query =>
      query.where(({ fn }) => fn("lower", ["event.recipient"]), "=", (recipient ?? "").toLowerCase()),
    )
    .$if(event !== undefined, query => query.where("event.event", "=", event ?? ""))
    .$if(since !== undefined, query => query.where("event.created_at", ">=", new Date(since ?? "")))
    .$if(until !== undefined, query => query.where("event.created_at", "<", new Date(until ?? "")))
}

const toEvent = (row: EventRow): EmailEvent => ({
  id: row.id,
  type: `email.${row.event}`,
  event: row.event as EmailEventKind,
  created_at: row.created_at.toISOString(),
  email_id: row.email_id,
  message_id: row.message_id,
  recipient: row.recipient,
  from: row.from_address,
  subject: row.subject,
  template: row.template,
  domain: row.domain,
  tags: row.tags as Record<string, string>,
  details: row.details as Record<string, unknown>,
})

export const eventHandlers = (): Pick<Handlers<Specs>, "listEvents"> => ({
  async listEvents(input, call) {
    const { limit, offset } = pageOf(input)
    const events = matching(call.db, {
      organizationId: call.organization.id,
      projectId: call.project?.id ?? null,
      emailId: input.email_id,
      recipient: input.recipient,
      event: input.event,
      since: input.since,
      until: input.until,
    })
    const rows = await events
      .selectAll("event")
      .orderBy("event.created_at", "desc")
      .orderBy("event.id", "desc")
      .limit(limit)
      .offset(offset)
      .execute()
    const { total } = await events
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow()
    return page({ rows: rows.map(toEvent), total }, input)
  },
})
