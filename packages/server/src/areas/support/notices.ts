/** Mails about tickets: to the requester when an agent answers, to the operator when a customer writes. */
import type { Db } from "../../kernel/db/database.ts"
import type { Job, Jobs, Outcome } from "../../kernel/jobs/jobs.ts"
import { composeMime } from "../../kernel/mime.ts"
import type { MailPort } from "../../ports/mail/port.ts"
import { replyAddress } from "./reply-address.ts"
import { REPLY_LINE } from "./reply-text.ts"
import type { AuthorRole } from "./rules.ts"
import { type CommentRow, type TicketRow, ticketStore } from "./ticket-store.ts"

const QUEUE = "support.mail"

interface Payload {
  readonly ticketId: string
  /** Null: the ticket itself, as it was opened. */
  readonly commentId: string | null
  readonly to: AuthorRole
}

export interface Notices {
  opened(db: Db, ticket: TicketRow): Promise<void>
  commented(db: Db, ticket: TicketRow, comment: CommentRow): Promise<void>
}

export interface NoticesNeeds {
  readonly db: Db
  readonly jobs: Jobs
  readonly mail: MailPort
  readonly mailFrom: string
  /** Where the operator reads of tickets; undefined: nowhere. */
  readonly operatorEmail: string | undefined
  /** Where answers by mail arrive; undefined while no mail is taken. */
  readonly replyHost: string | undefined
  readonly baseUrl: string
}

/** One line, whatever people put into a subject. */
const subjectOf = ({ number, subject }: TicketRow): string =>
  `[#${number}] ${subject.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()}`

/** Mails that leave nobody's house are not made: what is in the mailbox of this installation, the API shows too. */
export const createNotices = (needs: NoticesNeeds): Notices => {
  const { db, jobs, mail, mailFrom, operatorEmail, replyHost, baseUrl } = needs
  const { host } = new URL(baseUrl)

  const recipientOf = (to: AuthorRole, { requester_email }: TicketRow): string | undefined =>
    to === "customer" ? (requester_email ?? undefined) : operatorEmail

  const compose = (ticket: TicketRow, comment: CommentRow | undefined, to: AuthorRole, address: string) => {
    const above = replyHost === undefined ? "" : `${REPLY_LINE}\n\n`
    const author = comment?.author_name ?? ticket.requester_name
    const text = `${above}${author} wrote:\n\n${comment?.body ?? ticket.description}\n\n#${ticket.number} at ${baseUrl}\n`
    const thread = `<${ticket.id}@${host}>`
    return composeMime({
      ...{ from: mailFrom, to: address, subject: subjectOf(ticket), text },
      ...(replyHost !== undefined && { replyTo: replyAddress(ticket, to, replyHost) }),
      ...(comment
        ? { messageId: `<${comment.id}@${host}>`, inReplyTo: thread, references: thread }
        : { messageId: thread }),
      // RFC 3834: nothing answers it by itself.
      headers: { "Auto-Submitted": "auto-generated" },
      date: comment?.created_at ?? ticket.created_at,
    })
  }

  const send = async ({ tenantId, payload }: Job<Payload>): Promise<Outcome> => {
    const { ticketId, commentId, to } = payload
    const store = ticketStore(db)
    const ticket = tenantId === null ? undefined : await store.find({ organizationId: tenantId }, ticketId)
    const address = ticket && recipientOf(to, ticket)
    if (!ticket || address === undefined) return { kind: "done" }
    const comment = commentId === null ? undefined : await store.findComment(ticket, commentId)
    if (comment?.internal) return { kind: "dead", reason: "internal notes are not mailed" }
    const content = await compose(ticket, comment, to, address)
    const outcome = await mail.send({ sender: mailFrom, recipient: address, content })
    if (outcome.kind === "accepted") return { kind: "done" }
    if (outcome.kind === "rejected") return { kind: "dead", reason: outcome.reply.response }
    throw new Error(outcome.reply.response)
  }

  jobs.define<Payload>({ name: QUEUE, concurrency: 2, perTenantConcurrency: 1, run: send })

  const enqueue = async (db: Db, ticket: TicketRow, to: AuthorRole, commentId: string | null) => {
    if (mail.capabilities.by === "mailbox" || recipientOf(to, ticket) === undefined) return
    const payload: Payload = { ticketId: ticket.id, commentId, to }
    await jobs.enqueue(db, { queue: QUEUE, tenantId: ticket.organization_id, payload })
  }

  return {
    opened: (db, ticket) => enqueue(db, ticket, "agent", null),
    commented: (db, ticket, { id, author_type, internal }) =>
      internal ? Promise.resolve() : enqueue(db, ticket, author_type === "agent" ? "customer" : "agent", id),
  }
}
