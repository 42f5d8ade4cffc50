/** What happens to tickets, whichever way it comes: over the API from customers or agents, or by mail. */
import { randomBytes } from "node:crypto"
import { TICKET_COMMENTS_MAX, TICKETS_OPEN_MAX, type TicketStatus } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Notices } from "./notices.ts"
import type { Asker, Person } from "./people.ts"
import { type AuthorRole, moved, statusAfterComment } from "./rules.ts"
import { type CommentRow, type TicketRecord, type TicketRow, ticketStore } from "./ticket-store.ts"

const REPLY_KEY_BYTES = 32

export interface NewTicket {
  readonly organizationId: string
  readonly asker: Asker
  readonly subject: string
  readonly description: string
  readonly priority: string
  readonly category: string | null
  readonly tags: readonly string[]
  readonly sessionId: string | null
}

export interface NewComment {
  readonly side: AuthorRole
  readonly author: Person
  readonly body: string
  readonly internal: boolean
  /** Identifies the mail that it came by; null when it came over the API. */
  readonly mailId: string | null
}

type Change = Partial<
  Pick<TicketRow, "subject" | "priority" | "category" | "tags" | "assignee_id"> & { status: TicketStatus }
>

export interface Desk {
  open(db: Db, ticket: NewTicket, now: Date): Promise<string>
  /** The ticket must be locked, and the move allowed. */
  change(db: Db, ticket: TicketRecord, change: Change, now: Date): Promise<void>
  /** The ticket must be locked. Undefined where this mail was taken before. */
  comment(db: Db, ticket: TicketRecord, comment: NewComment, now: Date): Promise<CommentRow | undefined>
}

export interface DeskNeeds {
  readonly platformEvents: PlatformEvents
  readonly notices: Notices
}

const dataOf = ({ id, number, subject, status }: TicketRow) => ({ ticket_id: id, number, subject, status })

export const createDesk = ({ platformEvents, notices }: DeskNeeds): Desk => {
  const tell = (
    db: Db,
    ticket: TicketRow,
    type: "support.ticket.created" | "support.ticket.updated" | "support.ticket.closed",
  ) =>
    platformEvents.emit(db, {
      ...{ organizationId: ticket.organization_id, projectId: null, type },
      data: dataOf(ticket),
    })

  const change: Desk["change"] = async (db, ticket, { status, ...fields }, now) => {
    const stamps = moved(ticket, status ?? (ticket.status as TicketStatus), now)
    const columns = { ...fields, ...stamps, updated_at: now }
    await ticketStore(db).update(ticket, columns)
    const isClosed = ticket.status !== "closed" && stamps.status === "closed"
    await tell(db, { ...ticket, ...columns }, isClosed ? "support.ticket.closed" : "support.ticket.updated")
  }

  return {
    async open(db, { organizationId, asker, sessionId, tags, ...fields }, now) {
      const store = ticketStore(db)
      if ((await store.countOpen(organizationId)) >= TICKETS_OPEN_MAX)
        throw fault("invalid_parameter", { reason: `${TICKETS_OPEN_MAX} tickets are open already` })
      const row = {
        ...{ id: newId(), organization_id: organizationId, ...fields, tags: [...tags], status: "open" },
        ...{ requester_id: asker.id, requester_name: asker.name, requester_email: asker.email },
        ...{ assignee_id: null, session_id: sessionId, comment_count: 0, note_count: 0 },
        ...{ reply_key: randomBytes(REPLY_KEY_BYTES), first_response_at: null, last_comment_at: null },
        ...{ resolved_at: null, closed_at: null, created_at: now, updated_at: now },
      }
      const { number } = await store.insert(row)
      await tell(db, { ...row, number }, "support.ticket.created")
      await notices.opened(db, { ...row, number })
      return row.id
    },

    change,

    async comment(db, ticket, { side, author, body, internal, mailId }, now) {
      const next = statusAfterComment(side, ticket.status as TicketStatus)
      if (next === null) throw fault("ticket_closed")
      if (ticket.comment_count + ticket.note_count >= TICKET_COMMENTS_MAX)
        throw fault("invalid_parameter", { reason: `the ticket has ${TICKET_COMMENTS_MAX} comments already` })
      const row: CommentRow = {
        ...{ id: newId(), organization_id: ticket.organization_id, ticket_id: ticket.id },
        ...{ author_type: side, author_id: author.id, author_name: author.name, body, internal },
        ...{ source: mailId === null ? "api" : "email", mail_id: mailId, created_at: now },
      }
      const store = ticketStore(db)
      if (!(await store.insertComment(row))) return undefined
      if (internal) {
        // Not even the time of a change tells the customer of it.
        await store.update(ticket, { note_count: ticket.note_count + 1 })
        return row
      }
      await store.update(ticket, {
        ...{ comment_count: ticket.comment_count + 1, last_comment_at: now },
        ...(side === "agent" && { first_response_at: ticket.first_response_at ?? now }),
        updated_at: now,
      })
      if (next !== ticket.status) await change(db, ticket, { status: next }, now)
      await platformEvents.emit(db, {
        ...{ organizationId: ticket.organization_id, projectId: null },
        type: "support.ticket.comment.created",
        data: { ticket_id: ticket.id, number: ticket.number, comment_id: row.id, author_type: side },
      })
      await notices.commented(db, ticket, row)
      return row
    },
  }
}
