import type { ChatStatus } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { AuthorRole } from "./rules.ts"
import type { TicketVisibility } from "./ticket-store.ts"

export type ChatRow = Tables["support.chats"]
export type MessageRow = Tables["support.messages"]

/** A chat with what is kept elsewhere. */
export interface ChatRecord extends ChatRow {
  readonly organization_name: string
  readonly agent_name: string | null
  readonly agent_email: string | null
  readonly ticket_id: string | null
}

export interface ChatFilter {
  readonly status?: ChatStatus
  readonly assignee_id?: string
  readonly unassigned?: boolean
}

/** Messages of a side have one direction. */
export const directionOf = (side: AuthorRole) => (side === "customer" ? "incoming" : "outgoing")

/** Rows of support.chats and support.messages. */
export const chatStore = (db: Db) => {
  const own = (reach: TicketVisibility) =>
    db
      .selectFrom("support.chats as chat")
      .innerJoin("core.organizations as organization", "organization.id", "chat.organization_id")
      .leftJoin("core.users as agent", "agent.id", "chat.assignee_id")
      .$if(reach !== null, query => query.where("chat.organization_id", "=", reach?.organizationId ?? null))
      .$if(reach?.askers !== undefined, query => query.where("chat.contact_id", "in", reach?.askers ?? []))

  const record = <Query extends ReturnType<typeof own>>(query: Query) =>
    query
      .selectAll("chat")
      .select(({ selectFrom }) => [
        "organization.name as organization_name",
        "agent.name as agent_name",
        "agent.email as agent_email",
        selectFrom("support.tickets as ticket")
          .select("ticket.id")
          .whereRef("ticket.organization_id", "=", "chat.organization_id")
          .whereRef("ticket.session_id", "=", "chat.id")
          .orderBy("ticket.created_at", "desc")
          .limit(1)
          .as("ticket_id"),
      ])

  const filtered = (reach: TicketVisibility, { status, assignee_id, unassigned }: ChatFilter) =>
    own(reach)
      .$if(status !== undefined, query => query.where("chat.status", "=", status ?? ""))
      .$if(assignee_id !== undefined, query => query.where("chat.assignee_id", "=", assignee_id ?? ""))
      .$if(unassigned !== undefined, query =>
        query.where("chat.assignee_id", unassigned ? "is" : "is not", null),
      )

  const messages = ({ organization_id, id }: ChatRow) =>
    db
      .selectFrom("support.messages")
      .where("organization_id", "=", organization_id)
      .where("session_id", "=", id)

  return {
    insert: async (row: ChatRow) => {
      await db.insertInto("support.chats").values(row).execute()
    },

    find: (reach: TicketVisibility, id: string): Promise<ChatRecord | undefined> =>
      record(own(reach)).where("chat.id", "=", id).executeTakeFirst(),

    /** Locked until the transaction ends: messages of one chat take turns, and get their sequence by that. */
    findForUpdate: (reach: TicketVisibility, id: string): Promise<ChatRecord | undefined> =>
      record(own(reach)).where("chat.id", "=", id).forUpdate("chat").executeTakeFirst(),

    list: (
      reach: TicketVisibility,
      filter: ChatFilter,
      slice: Slice,
    ): Promise<{ rows: ChatRecord[]; total: number }> =>
      listRows(
        record(filtered(reach, filter)).orderBy("chat.created_at", "desc").orderBy("chat.id", "desc"),
        slice,
      ),

    countOpen: (organizationId: string): Promise<number> =>
      countRows(
        db
          .selectFrom("support.chats")
          .where("organization_id", "=", organizationId)
          .where("status", "!=", "resolved"),
      ),

    update: async ({ organization_id, id }: ChatRow, change: Partial<ChatRow>) => {
      await db
        .updateTable("support.chats")
        .set(change)
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .execute()
    },

    insertMessage: async (row: MessageRow) => {
      await db.insertInto("support.messages").values(row).execute()
    },

    findMessage: (
      chat: ChatRow,
      side: AuthorRole,
      clientMessageId: string,
    ): Promise<MessageRow | undefined> =>
      messages(chat)
        .where("direction", "=", directionOf(side))
        .where("client_message_id", "=", clientMessageId)
        .selectAll()
        .executeTakeFirst(),

    /** Newest first. */
    async listMessages(chat: ChatRow, { limit, offset }: Slice) {
      const rows = await messages(chat)
        .selectAll()
        .orderBy("sequence", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: chat.message_count }
    },

    /** Those after a sequence, oldest first. */
    async messagesAfter(chat: ChatRow, after: number, { limit, offset }: Slice) {
      const rows = await messages(chat)
        .where("sequence", ">", after)
        .selectAll()
        .orderBy("sequence")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: Math.max(0, chat.message_count - after) }
    },

    /** Marks what the other side said as read. */
    markRead: async (chat: ChatRow, side: AuthorRole, now: Date) => {
      await db
        .updateTable("support.messages")
        .set({ read_at: now })
        .where("organization_id", "=", chat.organization_id)
        .where("session_id", "=", chat.id)
        .where("direction", "=", directionOf(side === "customer" ? "agent" : "customer"))
        .where("read_at", "is", null)
        .execute()
    },
  }
}
