/** What support is made of, as customers and agents read and write it. */
import { T } from "./dsl.ts"
import { Email, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

export const TICKET_STATUSES = ["open", "pending", "on_hold", "resolved", "closed"] as const
export type TicketStatus = (typeof TICKET_STATUSES)[number]

export const CHAT_STATUSES = ["open", "pending", "snoozed", "resolved"] as const
export type ChatStatus = (typeof CHAT_STATUSES)[number]

export const TICKET_PRIORITIES = ["low", "normal", "high", "urgent"] as const
export type TicketPriority = (typeof TICKET_PRIORITIES)[number]

/** Characters of a comment, a ticket's description or a message of a chat. */
export const SUPPORT_TEXT_MAX = 20_000
/** Tickets of one organization that are not closed. */
export const TICKETS_OPEN_MAX = 1_000
/** Comments and notes of one ticket. */
export const TICKET_COMMENTS_MAX = 1_000
/** Chats of one organization that are not resolved. */
export const CHATS_OPEN_MAX = 500
/** Messages of one chat. */
export const CHAT_MESSAGES_MAX = 10_000

export const Subject = T.String({ minLength: 1, maxLength: 200 })
export const Text = T.String({ minLength: 1, maxLength: SUPPORT_TEXT_MAX })
export const Priority = OneOf(TICKET_PRIORITIES)
export const Status = OneOf(TICKET_STATUSES)
export const ChatStatusWord = OneOf(CHAT_STATUSES)
export const Category = T.String({ minLength: 1, maxLength: 64 })
export const Tags = T.Array(T.String({ minLength: 1, maxLength: 50 }), { maxItems: 20, uniqueItems: true })

const Agent = T.Object({ id: Id, name: T.String(), email: Email })

const Author = T.Object({
  type: OneOf(["customer", "agent"]),
  id: Id,
  name: T.String(),
})

const Requester = T.Object({
  id: T.String({ format: "uuid", description: "The person who asked, or the key" }),
  name: T.String(),
  email: Nullable(
    T.String({ description: "Where answers are mailed: of the person, or of the one who made the key" }),
  ),
})

const ticketFields = {
  id: Id,
  number: T.Integer({ description: "For people to name it by; unique on this installation" }),
  subject: T.String(),
  description: T.String(),
  status: Status,
  priority: Priority,
  category: Nullable(T.String()),
  tags: T.Array(T.String()),
  requester: Requester,
  assignee: Nullable(Agent),
  comment_count: T.Integer(),
  first_response_at: Nullable(Time),
  last_comment_at: Nullable(Time),
  resolved_at: Nullable(Time),
  closed_at: Nullable(Time),
  created_at: Time,
  updated_at: Time,
}

export const Ticket = T.Object(ticketFields)

const Organization = T.Object({ id: Id, name: T.String() })

/** With what customers are not shown. */
export const AgentTicket = T.Object({
  ...ticketFields,
  organization: Organization,
  note_count: T.Integer({ description: "Internal notes" }),
})

export const Comment = T.Object({
  id: Id,
  ticket_id: Id,
  author: Author,
  body: T.String(),
  internal: T.Boolean({ description: "A note among agents; customers are never given one" }),
  source: OneOf(["api", "email"]),
  created_at: Time,
})

const chatFields = {
  id: Id,
  status: ChatStatusWord,
  subject: Nullable(T.String()),
  contact: Requester,
  assignee: Nullable(Agent),
  unread_count: T.Integer({ description: "Messages of the other side that were not marked as read" }),
  message_count: T.Integer(),
  last_message_at: Nullable(Time),
  ticket_id: Nullable(Id),
  created_at: Time,
  updated_at: Time,
}

export const Chat = T.Object(chatFields)
export const AgentChat = T.Object({ ...chatFields, organization: Organization })

export const Message = T.Object({
  id: Id,
  session_id: Id,
  sequence: T.Integer({ description: "1 for the first of its chat" }),
  direction: OneOf(["incoming", "outgoing"]),
  author: Author,
  content: T.String(),
  content_type: OneOf(["text", "markdown"]),
  client_message_id: Nullable(T.String()),
  read_at: Nullable(Time),
  created_at: Time,
})

export const ticketFilters = {
  status: T.Optional(Status),
  priority: T.Optional(Priority),
  category: T.Optional(Category),
  tag: T.Optional(T.String({ minLength: 1, maxLength: 50 })),
  q: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 200,
      description: 'Words of subject and description; `"a phrase"`, `or` and `-without` work',
    }),
  ),
  sort: T.Optional(
    OneOf(["created_at", "-created_at", "updated_at", "-updated_at", "priority", "-priority"]),
  ),
}

export const messageQuery = {
  after: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: "Only messages of a greater `sequence`, oldest first",
    }),
  ),
  ...pageQuery,
}

export const newMessage = {
  content: Text,
  content_type: T.Optional(OneOf(["text", "markdown"])),
  client_message_id: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 128,
      description: "Of the sender's making: sent again, the first message is given back",
    }),
  ),
}
