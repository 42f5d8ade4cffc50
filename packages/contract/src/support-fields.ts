/** Tickets, chats and their parts, as customers and agents read and write them. */
import { T } from "./dsl.ts"
import { described, Email, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

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
export const Text = T.String({
  minLength: 1,
  maxLength: SUPPORT_TEXT_MAX,
  description: "Text of at most 20,000 characters",
})
export const Priority = OneOf(TICKET_PRIORITIES, { description: "How urgent it is" })
export const Status = OneOf(TICKET_STATUSES, {
  description: "`pending`: waits for the customer; `on_hold`: waits for something else",
})
export const ChatStatusWord = OneOf(CHAT_STATUSES, {
  description: "`pending`: waits for the customer; `snoozed`: waits for something else",
})
export const Category = T.String({ minLength: 1, maxLength: 64, description: "Subject area, as you name it" })
export const Tags = T.Array(T.String({ minLength: 1, maxLength: 50 }), {
  maxItems: 20,
  uniqueItems: true,
  description: "Labels",
})

const Agent = T.Object({ id: Id, name: T.String(), email: Email })

const Author = T.Object({
  type: OneOf(["customer", "agent"], { description: "Which side wrote it" }),
  id: Id,
  name: T.String(),
})

const Requester = T.Object({
  id: T.String({ format: "uuid", description: "Id of the person or key that opened it" }),
  name: T.String(),
  email: Nullable(
    T.String({
      description:
        "Address that replies are mailed to: of the person, or of the creator of the key; null for none",
    }),
  ),
})

const ticketFields = {
  id: Id,
  number: T.Integer({ description: "Number for people, unique on this installation" }),
  subject: T.String(),
  description: T.String({ description: "What the requester wrote first" }),
  status: Status,
  priority: Priority,
  category: Nullable(T.String(), { description: "Subject area; null for none" }),
  tags: T.Array(T.String(), { description: "Labels" }),
  requester: described(Requester, "Who opened it"),
  assignee: Nullable(Agent, { description: "Agent who works on it; null for nobody" }),
  comment_count: T.Integer({ description: "Number of comments, internal notes not counted" }),
  first_response_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the first agent comment; null before",
  }),
  last_comment_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the newest comment; null before the first",
  }),
  resolved_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not resolved" }),
  closed_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not closed" }),
  created_at: Time,
  updated_at: Time,
}

export const Ticket = T.Object(ticketFields)

const Organization = T.Object({ id: Id, name: T.String() })

/** Includes fields that customers do not see. */
export const AgentTicket = T.Object({
  ...ticketFields,
  organization: described(Organization, "Organization of the requester"),
  note_count: T.Integer({ description: "Number of internal notes" }),
})

export const Comment = T.Object({
  id: Id,
  ticket_id: Id,
  author: described(Author, "Who wrote it"),
  body: T.String({ description: "Text of the comment" }),
  internal: T.Boolean({ description: "True for notes among agents, which customers do not see" }),
  source: OneOf(["api", "email"], { description: "How it arrived" }),
  created_at: Time,
})

const chatFields = {
  id: Id,
  status: ChatStatusWord,
  subject: Nullable(T.String(), { description: "What it is about; null for nothing in particular" }),
  contact: described(Requester, "Who opened it"),
  assignee: Nullable(Agent, { description: "Agent who answers; null for nobody" }),
  unread_count: T.Integer({ description: "Messages of the other side that are not marked as read" }),
  message_count: T.Integer({ description: "Number of messages" }),
  last_message_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the newest message; null before the first",
  }),
  ticket_id: Nullable(Id, { description: "Ticket that was opened from it; null for none" }),
  created_at: Time,
  updated_at: Time,
}

export const Chat = T.Object(chatFields)
export const AgentChat = T.Object({
  ...chatFields,
  organization: described(Organization, "Organization of the customer"),
})

export const Message = T.Object({
  id: Id,
  session_id: Id,
  sequence: T.Integer({ description: "Number of the message in its chat, from 1" }),
  direction: OneOf(["incoming", "outgoing"], {
    description: "`incoming`: by the customer; `outgoing`: by an agent",
  }),
  author: described(Author, "Who wrote it"),
  content: T.String({ description: "Text of the message" }),
  content_type: OneOf(["text", "markdown"], { description: "How the text is written" }),
  client_message_id: Nullable(T.String(), { description: "Id that the sender gave; null for none" }),
  read_at: Nullable(Time, { description: "RFC 3339 time in UTC; null while it is unread" }),
  created_at: Time,
})

export const ticketFilters = {
  status: T.Optional(described(Status, "Only tickets with this status")),
  priority: T.Optional(described(Priority, "Only tickets with this priority")),
  category: T.Optional(described(Category, "Only tickets of this subject area")),
  tag: T.Optional(T.String({ minLength: 1, maxLength: 50, description: "Only tickets with this label" })),
  q: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 200,
      description: 'Words of subject and description; `"a phrase"`, `or` and `-without` work',
    }),
  ),
  sort: T.Optional(
    OneOf(["created_at", "-created_at", "updated_at", "-updated_at", "priority", "-priority"], {
      description: "Order; `-` is descending; `-created_at` when left out",
    }),
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
  content: described(Text, "Text of the message"),
  content_type: T.Optional(
    OneOf(["text", "markdown"], { description: "How the text is written; `text` when left out" }),
  ),
  client_message_id: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 128,
      description: "Id of your own: sending it again returns the first message",
    }),
  ),
}
