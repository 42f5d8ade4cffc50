/** Rows as customers and agents are shown them. */

import type { areas, ChatStatus, Output, TicketPriority, TicketStatus } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { ChatRecord, MessageRow } from "./chat-store.ts"
import type { CommentRow, TicketRecord } from "./ticket-store.ts"

type Specs = typeof areas.support.specs
type Ticket = Output<Specs["getTicket"]>
type AgentTicket = Output<Specs["agentGetTicket"]>
type Comment = Output<Specs["addComment"]>
type Chat = Output<Specs["getChat"]>
type AgentChat = Output<Specs["agentUpdateChat"]>
type Message = Output<Specs["postMessage"]>

const assigneeOf = ({
  assignee_id,
  agent_name,
  agent_email,
}: Pick<TicketRecord, "assignee_id" | "agent_name" | "agent_email">) =>
  assignee_id === null || agent_email === null
    ? null
    : { id: assignee_id, name: agent_name ?? "", email: agent_email }

const organizationOf = (row: Pick<TicketRecord, "organization_id" | "organization_name">) => ({
  id: row.organization_id,
  name: row.organization_name,
})

export const toTicket = (row: TicketRecord): Ticket => ({
  ...{ id: row.id, number: row.number, subject: row.subject, description: row.description },
  status: row.status as TicketStatus,
  priority: row.priority as TicketPriority,
  ...{ category: row.category, tags: row.tags },
  requester: { id: row.requester_id, name: row.requester_name, email: row.requester_email },
  assignee: assigneeOf(row),
  comment_count: row.comment_count,
  first_response_at: toIso(row.first_response_at),
  last_comment_at: toIso(row.last_comment_at),
  resolved_at: toIso(row.resolved_at),
  closed_at: toIso(row.closed_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toAgentTicket = (row: TicketRecord): AgentTicket => ({
  ...toTicket(row),
  organization: organizationOf(row),
  note_count: row.note_count,
})

export const toComment = (row: CommentRow): Comment => ({
  ...{ id: row.id, ticket_id: row.ticket_id, body: row.body, internal: row.internal },
  author: {
    type: row.author_type as Comment["author"]["type"],
    id: row.author_id,
    name: row.author_name,
  },
  source: row.source as Comment["source"],
  created_at: row.created_at.toISOString(),
})

const chatOf = (row: ChatRecord, unread_count: number): Chat => ({
  ...{ id: row.id, status: row.status as ChatStatus, subject: row.subject, unread_count },
  contact: { id: row.contact_id, name: row.contact_name, email: row.contact_email },
  assignee: assigneeOf(row),
  message_count: row.message_count,
  last_message_at: toIso(row.last_message_at),
  ticket_id: row.ticket_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toChat = (row: ChatRecord): Chat => chatOf(row, row.customer_unread)

export const toAgentChat = (row: ChatRecord): AgentChat => ({
  ...chatOf(row, row.agent_unread),
  organization: organizationOf(row),
})

export const toMessage = (row: MessageRow): Message => ({
  ...{ id: row.id, session_id: row.session_id, sequence: row.sequence },
  direction: row.direction as Message["direction"],
  author: {
    type: row.direction === "incoming" ? "customer" : "agent",
    ...{ id: row.author_id, name: row.author_name },
  },
  content: row.content,
  content_type: row.content_type as Message["content_type"],
  client_message_id: row.client_message_id,
  read_at: toIso(row.read_at),
  created_at: row.created_at.toISOString(),
})
