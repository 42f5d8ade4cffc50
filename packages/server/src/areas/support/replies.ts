/** Answers to our mails become comments. */
import { SUPPORT_TEXT_MAX } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Desk } from "./desk.ts"
import type { MailReplies, ReplyVerdict } from "./offers.ts"
import type { Operator, Person } from "./people.ts"
import { isSigned, parseReplyAddress } from "./reply-address.ts"
import { answerOf } from "./reply-text.ts"
import type { AuthorRole } from "./rules.ts"
import { type TicketRow, ticketStore } from "./ticket-store.ts"

const MAIL_ID_LENGTH_MAX = 500

/** Who the requester is, while they are a member still. */
const requesterAt = (db: Db, { organization_id }: TicketRow, email: string): Promise<Person | undefined> =>
  db
    .selectFrom("core.members as member")
    .innerJoin("core.users as user", "user.id", "member.user_id")
    .where("member.organization_id", "=", organization_id)
    .where(({ fn }) => fn("lower", ["user.email"]), "=", email.toLowerCase())
    .select(["user.id", "user.name"])
    .executeTakeFirst()

export const createMailReplies = (needs: {
  readonly database: Database
  readonly clock: Clock
  readonly desk: Desk
  readonly operator: Operator
}): MailReplies => {
  const { database, clock, desk, operator } = needs

  /** The address must be ours, and the sender the one that it was given to: one of both can be stolen. */
  const authorOf = async (db: Db, ticket: TicketRow, side: AuthorRole, from: string) => {
    if (side === "agent") return operator.findAgentByEmail(db, from)
    const isRequester = ticket.requester_email?.toLowerCase() === from.toLowerCase()
    return isRequester ? requesterAt(db, ticket, from) : undefined
  }

  return {
    isForUs: address => parseReplyAddress(address) !== undefined,

    async receive({ address, from, text, mailId }): Promise<ReplyVerdict> {
      const to = parseReplyAddress(address)
      if (!to) return "unknown_address"
      return database.transaction(async db => {
        const store = ticketStore(db)
        const named = await store.findByNumber(to.number)
        if (!named || !isSigned(named, to)) return "unknown_address"
        const author = await authorOf(db, named, to.side, from)
        if (!author) return "foreign_sender"
        const body = answerOf(text).slice(0, SUPPORT_TEXT_MAX)
        if (body === "") return "empty"
        const ticket = await store.findForUpdate({ organizationId: named.organization_id }, named.id)
        if (!ticket || ticket.status === "closed") return "closed"
        const comment = {
          side: to.side,
          author,
          body,
          internal: false,
          mailId: mailId.slice(0, MAIL_ID_LENGTH_MAX),
        }
        try {
          const made = await desk.comment(db, ticket, comment, new Date(clock.now()))
          return made ? "taken" : "duplicate"
        } catch (error) {
          if (isFault(error)) return "full"
          throw error
        }
      })
    },
  }
}
