import { area, T } from "./dsl.ts"
import { supportAgents } from "./support-agents.ts"
import {
  Category,
  Chat,
  ChatStatusWord,
  Comment,
  Message,
  messageQuery,
  newMessage,
  Priority,
  Status,
  Subject,
  Tags,
  Text,
  Ticket,
  ticketFilters,
} from "./support-fields.ts"
import { described, Id, LastEvent, Nullable, Page, PageQuery, pageQuery } from "./types.ts"

const READ = { scope: "any", effect: "read" } as const
const WRITE = { scope: "any", effect: "write" } as const
const Named = T.Object({ id: Id })

const tickets = {
  listTickets: {
    ...READ,
    id: "listSupportTickets",
    http: "GET /v1/support/tickets",
    summary: "List the organization's tickets",
    query: T.Object({ ...ticketFilters, ...pageQuery }),
    replies: { 200: Page(Ticket) },
  },
  createTicket: {
    ...WRITE,
    id: "createSupportTicket",
    http: "POST /v1/support/tickets",
    summary: "Open a ticket",
    description:
      "Whoever runs the platform is told. Answers are comments; they are mailed to the requester too.",
    body: T.Object({
      subject: Subject,
      description: Text,
      priority: T.Optional(Priority),
      category: T.Optional(Nullable(Category, { description: "Subject area; null or left out for none" })),
      tags: T.Optional(Tags),
      session_id: T.Optional(
        T.String({ format: "uuid", description: "The chat that the ticket comes from" }),
      ),
    }),
    aliases: { body: "description", message: "description", title: "subject" },
    replies: { 200: Ticket },
    faults: ["chat_session_not_found", "invalid_parameter"],
    example: { subject: "A database does not wake", description: "Since this morning.", priority: "high" },
  },
  getTicket: {
    ...READ,
    id: "getSupportTicket",
    http: "GET /v1/support/tickets/{id}",
    summary: "Show a ticket",
    params: Named,
    replies: { 200: Ticket },
    faults: ["ticket_not_found"],
  },
  updateTicket: {
    ...WRITE,
    id: "updateSupportTicket",
    http: "PUT /v1/support/tickets/{id}",
    summary: "Change a ticket",
    description:
      "Fields that are left out stay. The status can be set to `resolved`, back to `open`, and to `closed`, which is " +
      "final; the others are the agents'.",
    idempotent: "naturally",
    params: Named,
    body: T.Object({
      subject: T.Optional(Subject),
      priority: T.Optional(Priority),
      category: T.Optional(Nullable(Category)),
      tags: T.Optional(Tags),
      status: T.Optional(Status),
    }),
    replies: { 200: Ticket },
    faults: ["ticket_not_found", "ticket_closed", "invalid_state_transition"],
    example: { priority: "urgent" },
  },
  closeTicket: {
    ...WRITE,
    id: "closeSupportTicket",
    http: "POST /v1/support/tickets/{id}/close",
    summary: "Close a ticket for good",
    description: "One that is closed already stays as it is.",
    idempotent: "naturally",
    params: Named,
    replies: { 200: Ticket },
    faults: ["ticket_not_found"],
  },
  listComments: {
    ...READ,
    id: "listSupportTicketComments",
    http: "GET /v1/support/tickets/{id}/comments",
    summary: "List a ticket's comments, oldest first",
    params: Named,
    query: PageQuery,
    replies: { 200: Page(Comment) },
    faults: ["ticket_not_found"],
  },
  addComment: {
    ...WRITE,
    id: "addSupportTicketComment",
    http: "POST /v1/support/tickets/{id}/comments",
    summary: "Add a comment to a ticket",
    description: "A ticket that is `pending` or `resolved` is `open` again.",
    params: Named,
    body: T.Object({ body: Text }),
    aliases: { content: "body", message: "body" },
    replies: { 200: Comment },
    faults: ["ticket_not_found", "ticket_closed", "invalid_parameter"],
    example: { body: "It still sleeps." },
  },
} as const

const chats = {
  listChats: {
    ...READ,
    id: "listSupportChatSessions",
    http: "GET /v1/support/chat/sessions",
    summary: "List the organization's chats with support",
    query: T.Object({ status: T.Optional(ChatStatusWord), ...pageQuery }),
    replies: { 200: Page(Chat) },
  },
  createChat: {
    ...WRITE,
    id: "createSupportChatSession",
    http: "POST /v1/support/chat/sessions",
    summary: "Begin a chat with support",
    body: T.Object({
      subject: T.Optional(Nullable(Subject)),
      message: T.Optional(described(Text, "First message; none when left out")),
    }),
    replies: { 200: Chat },
    faults: ["invalid_parameter"],
    example: { subject: "How do I restore?", message: "I deleted a table." },
  },
  getChat: {
    ...READ,
    beyond: true,
    id: "getSupportChatSession",
    http: "GET /v1/support/chat/sessions/{id}",
    summary: "Show a chat",
    params: Named,
    replies: { 200: Chat },
    faults: ["chat_session_not_found"],
  },
  closeChat: {
    ...WRITE,
    beyond: true,
    id: "closeSupportChatSession",
    http: "POST /v1/support/chat/sessions/{id}/close",
    summary: "End a chat; a further message opens it again",
    idempotent: "naturally",
    params: Named,
    replies: { 200: Chat },
    faults: ["chat_session_not_found"],
  },
  readChat: {
    ...WRITE,
    beyond: true,
    id: "readSupportChatSession",
    http: "POST /v1/support/chat/sessions/{id}/read",
    summary: "Mark the agents' messages of a chat as read",
    idempotent: "naturally",
    params: Named,
    replies: { 200: Chat },
    faults: ["chat_session_not_found"],
  },
  listMessages: {
    ...READ,
    id: "listSupportChatMessages",
    http: "GET /v1/support/chat/sessions/{id}/messages",
    summary: "List a chat's messages, newest first",
    params: Named,
    query: T.Object(messageQuery),
    replies: { 200: Page(Message) },
    faults: ["chat_session_not_found"],
  },
  postMessage: {
    ...WRITE,
    id: "postSupportChatMessage",
    http: "POST /v1/support/chat/sessions/{id}/messages",
    summary: "Say something in a chat",
    params: Named,
    body: T.Object(newMessage),
    aliases: { body: "content", text: "content" },
    replies: { 200: Message },
    faults: ["chat_session_not_found", "invalid_parameter"],
    example: { content: "Are you there?", client_message_id: "browser-1" },
  },
  streamChat: {
    ...READ,
    beyond: true,
    id: "streamSupportChatSession",
    http: "GET /v1/support/chat/sessions/{id}/stream",
    summary: "Follow a chat live, by server-sent events",
    description:
      "`message` has a message as its data and its sequence as its id, from the one after `Last-Event-ID` on; without " +
      "that header only new ones. `session` has the chat, first and whenever it changes. Ends after 15 minutes; come " +
      "again with the last id.",
    content: { reply: "sse" },
    headers: LastEvent,
    params: Named,
    replies: { 200: T.String() },
    faults: ["chat_session_not_found", "rate_limited"],
  },
} as const

export const support = area(
  "support",
  {
    title: "Support",
    summary:
      "Tickets and chats with whoever runs the platform. A key sees those that it opened; a person all of the organization, or the own ones where limited to projects",
    project: "none",
    belongs: "caller",
  },
  { ...tickets, ...chats, ...supportAgents },
)
