import { type areas, type Input, page, pageOf, type TicketStatus } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { chatStore } from "./chat-store.ts"
import type { Desk } from "./desk.ts"
import { toAgentTicket, toComment, toTicket } from "./payloads.ts"
import { askerOf, callerOf, type Operator, reachOf } from "./people.ts"
import { mayMove } from "./rules.ts"
import { type TicketRecord, type TicketVisibility, ticketStore } from "./ticket-store.ts"

type Specs = typeof areas.support.specs
type All = Handlers<Specs>

const requireTicket = ({ db }: Call, reach: TicketVisibility, id: string): Promise<TicketRecord> =>
  requireRow(ticketStore(db).find(reach, id), "ticket_not_found", { id })

const requireTicketForUpdate = async (
  call: Call,
  reach: TicketVisibility,
  id: string,
): Promise<TicketRecord> => {
  const row = await requireRow(ticketStore(call.db).findForUpdate(reach, id), "ticket_not_found", { id })
  call.describe({ targets: [{ type: "ticket", id, name: `#${row.number}` }] })
  return row
}

const checkSession = async (call: Call, id: string | undefined): Promise<void> => {
  if (id !== undefined && !(await chatStore(call.db).find(await reachOf(call), id)))
    throw fault("chat_session_not_found", { id })
}

/** The tickets of the caller's organization. */
export const ticketHandlers = (desk: Desk) =>
  ({
    async listTickets(input, call) {
      const { rows, total } = await ticketStore(call.db).list(await reachOf(call), input, pageOf(input))
      return page({ rows: rows.map(toTicket), total }, input)
    },

    async createTicket(input, call) {
      const { subject, description, priority = "normal", category = null, tags = [], session_id } = input
      await checkSession(call, session_id)
      const id = await desk.open(
        call.db,
        {
          ...{ organizationId: call.organization.id, asker: await askerOf(call) },
          ...{ subject, description, priority, category, tags, sessionId: session_id ?? null },
        },
        call.now,
      )
      const row = await requireTicket(call, await reachOf(call), id)
      call.describe({ targets: [{ type: "ticket", id, name: `#${row.number}` }] })
      return toTicket(row)
    },

    async getTicket({ id }, call) {
      return toTicket(await requireTicket(call, await reachOf(call), id))
    },

    async updateTicket({ id, ...change }, call) {
      const row = await requireTicketForUpdate(call, await reachOf(call), id)
      const from = row.status as TicketStatus
      if (from === "closed") throw fault("ticket_closed")
      if (change.status !== undefined && !mayMove("customer", from, change.status))
        throw fault("invalid_state_transition", { state: from })
      await desk.change(call.db, row, change, call.now)
      return toTicket(await requireTicket(call, { organizationId: row.organization_id }, id))
    },

    async closeTicket({ id }, call) {
      const row = await requireTicketForUpdate(call, await reachOf(call), id)
      if (row.status === "closed") return toTicket(row)
      await desk.change(call.db, row, { status: "closed" }, call.now)
      return toTicket(await requireTicket(call, { organizationId: row.organization_id }, id))
    },

    async listComments({ id, ...input }, call) {
      const row = await requireTicket(call, await reachOf(call), id)
      const { rows, total } = await ticketStore(call.db).listComments(row, false, pageOf(input))
      return page({ rows: rows.map(toComment), total }, input)
    },

    async addComment({ id, body }, call) {
      const row = await requireTicketForUpdate(call, await reachOf(call), id)
      const comment = {
        side: "customer",
        author: callerOf(call),
        body,
        internal: false,
        mailId: null,
      } as const
      const made = await desk.comment(call.db, row, comment, call.now)
      if (!made) throw new Error("a comment that came by no mail was taken for one that did")
      return toComment(made)
    },
  }) satisfies Partial<All>

/** The same of all organizations, for those who answer them. */
export const agentTicketHandlers = (desk: Desk, operator: Operator) => {
  const checkAssignee = async ({ db }: Call, id: string | null | undefined): Promise<void> => {
    if (typeof id === "string" && !(await operator.findAgent(db, id))) throw fault("member_not_found", { id })
  }

  return {
    async agentListTickets(input, call) {
      await operator.check(call)
      const reach = input.organization_id === undefined ? null : { organizationId: input.organization_id }
      const { rows, total } = await ticketStore(call.db).list(reach, input, pageOf(input))
      return page({ rows: rows.map(toAgentTicket), total }, input)
    },

    async agentGetTicket({ id }, call) {
      await operator.check(call)
      return toAgentTicket(await requireTicket(call, null, id))
    },

    async agentUpdateTicket({ id, ...change }: Input<Specs["agentUpdateTicket"]>, call: Call) {
      await operator.check(call)
      const row = await requireTicketForUpdate(call, null, id)
      if (row.status === "closed") throw fault("ticket_closed")
      await checkAssignee(call, change.assignee_id)
      await desk.change(call.db, row, change, call.now)
      return toAgentTicket(await requireTicket(call, null, id))
    },

    async agentListComments({ id, ...input }, call) {
      await operator.check(call)
      const row = await requireTicket(call, null, id)
      const { rows, total } = await ticketStore(call.db).listComments(row, true, pageOf(input))
      return page({ rows: rows.map(toComment), total }, input)
    },

    async agentAddComment({ id, body, internal = false }, call) {
      await operator.check(call)
      const row = await requireTicketForUpdate(call, null, id)
      const comment = { side: "agent", author: callerOf(call), body, internal, mailId: null } as const
      const made = await desk.comment(call.db, row, comment, call.now)
      if (!made) throw new Error("a comment that came by no mail was taken for one that did")
      return toComment(made)
    },
  } satisfies Partial<All>
}
