import { TICKET_PRIORITIES, type TicketPriority, type TicketStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type TicketRow = Tables["support.tickets"]
export type CommentRow = Tables["support.comments"]

/** A ticket with the names that are kept elsewhere. */
export interface TicketRecord extends TicketRow {
  readonly organization_name: string
  readonly agent_name: string | null
  readonly agent_email: string | null
}

/**
 * Whose tickets and chats: those of one organization, where `askers` are given only those that they asked; with null those
 * of all organizations, which is for agents alone.
 */
export type TicketVisibility = { readonly organizationId: string; readonly askers?: readonly string[] } | null

export interface TicketFilter {
  readonly status?: TicketStatus
  readonly priority?: TicketPriority
  readonly category?: string
  readonly tag?: string
  /** As web searches are written. */
  readonly q?: string
  readonly assignee_id?: string
  readonly unassigned?: boolean
  readonly sort?: string
}

/** `-` before the field: the greatest first. */
const orderOf = (sort: string) => {
  const direction = sort.startsWith("-") ? sql`DESC` : sql`ASC`
  const priorities = sql.lit(`{${TICKET_PRIORITIES.join(",")}}`)
  const field =
    sort.replace(/^-/, "") === "priority"
      ? sql`array_position(${priorities}::text[], ticket.priority)`
      : sql.ref(`ticket.${sort.replace(/^-/, "")}`)
  return sql`${field} ${direction}, ticket.id ${direction}`
}

/** Rows of support.tickets and support.comments. */
export const ticketStore = (db: Db) => {
  const records = (reach: TicketVisibility) =>
    db
      .selectFrom("support.tickets as ticket")
      .innerJoin("core.organizations as organization", "organization.id", "ticket.organization_id")
      .leftJoin("core.users as agent", "agent.id", "ticket.assignee_id")
      .$if(reach !== null, query => query.where("ticket.organization_id", "=", reach?.organizationId ?? null))
      .$if(reach?.askers !== undefined, query =>
        query.where("ticket.requester_id", "in", reach?.askers ?? []),
      )
      .selectAll("ticket")
      .select([
        "organization.name as organization_name",
        "agent.name as agent_name",
        "agent.email as agent_email",
      ])

  const filtered = (reach: TicketVisibility, filter: TicketFilter) => {
    const { status, priority, category, tag, q, assignee_id, unassigned } = filter
    const words = sql`to_tsvector('simple', ticket.subject || ' ' || ticket.description)`
    return records(reach)
      .$if(status !== undefined, query => query.where("ticket.status", "=", status ?? ""))
      .$if(priority !== undefined, query => query.where("ticket.priority", "=", priority ?? ""))
      .$if(category !== undefined, query => query.where("ticket.category", "=", category ?? ""))
      .$if(tag !== undefined, query => query.where(sql<boolean>`${tag} = ANY (ticket.tags)`))
      .$if(q !== undefined, query =>
        query.where(sql<boolean>`${words} @@ websearch_to_tsquery('simple', ${q})`),
      )
      .$if(assignee_id !== undefined, query => query.where("ticket.assignee_id", "=", assignee_id ?? ""))
      .$if(unassigned !== undefined, query =>
        query.where("ticket.assignee_id", unassigned ? "is" : "is not", null),
      )
  }

  const comments = (ticket: TicketRow, withNotes: boolean) =>
    db
      .selectFrom("support.comments")
      .where("organization_id", "=", ticket.organization_id)
      .where("ticket_id", "=", ticket.id)
      .$if(!withNotes, query => query.where("internal", "=", false))

  return {
    insert: async (row: Omit<TicketRow, "number">): Promise<{ number: number }> =>
      db
        .insertInto("support.tickets")
        .values({ ...row, number: sql<number>`nextval('support.ticket_numbers')` })
        .returning("number")
        .executeTakeFirstOrThrow(),

    find: (reach: TicketVisibility, id: string): Promise<TicketRecord | undefined> =>
      records(reach).where("ticket.id", "=", id).executeTakeFirst(),

    /** Locked until the transaction ends: two changes of one ticket take turns. */
    findForUpdate: (reach: TicketVisibility, id: string): Promise<TicketRecord | undefined> =>
      records(reach).where("ticket.id", "=", id).forUpdate("ticket").executeTakeFirst(),

    /** By what people call it, for mail, whose address proves which ticket is meant. */
    findByNumber: (number: number): Promise<TicketRecord | undefined> =>
      records(null).where("ticket.number", "=", number).executeTakeFirst(),

    list: (
      reach: TicketVisibility,
      filter: TicketFilter,
      slice: Slice,
    ): Promise<{ rows: TicketRecord[]; total: number }> =>
      listRows(filtered(reach, filter).orderBy(orderOf(filter.sort ?? "-created_at")), slice),

    countOpen: (organizationId: string): Promise<number> =>
      countRows(
        db
          .selectFrom("support.tickets")
          .where("organization_id", "=", organizationId)
          .where("status", "!=", "closed"),
      ),

    update: async ({ organization_id, id }: TicketRow, change: Partial<TicketRow>) => {
      await db
        .updateTable("support.tickets")
        .set(change)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    /** False where a comment that came by the same mail is there. */
    async insertComment(row: CommentRow): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("support.comments")
        .values(row)
        .onConflict(conflict => conflict.columns(["ticket_id", "mail_id"]).doNothing())
        .executeTakeFirst()
      return numInsertedOrUpdatedRows === 1n
    },

    /** Oldest first. */
    async listComments(ticket: TicketRow, withNotes: boolean, { limit, offset }: Slice) {
      const rows = await comments(ticket, withNotes)
        .selectAll()
        .orderBy("created_at")
        .orderBy("id")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: ticket.comment_count + (withNotes ? ticket.note_count : 0) }
    },

    findComment: (ticket: TicketRow, id: string): Promise<CommentRow | undefined> =>
      comments(ticket, true).where("id", "=", id).selectAll().executeTakeFirst(),
  }
}
