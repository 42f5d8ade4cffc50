import { type areas, CHAT_MESSAGES_MAX, CHATS_OPEN_MAX, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Notifier } from "../../kernel/notifier.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { type ChatRecord, type ChatRow, chatStore, directionOf, type MessageRow } from "./chat-store.ts"
import { toAgentChat, toChat, toMessage } from "./payloads.ts"
import { askerOf, callerOf, type Operator, reachOf } from "./people.ts"
import { type AuthorRole, chatStatusAfter } from "./rules.ts"
import type { ChatStreams } from "./stream.ts"
import type { TicketVisibility } from "./ticket-store.ts"

type Specs = typeof areas.support.specs
type All = Handlers<Specs>
type NewMessage = Omit<Input<Specs["postMessage"]>, "id">

export interface ChatNeeds {
  readonly notifier: Notifier
  readonly streams: ChatStreams
}

const requireChat = ({ db }: Call, reach: TicketVisibility, id: string): Promise<ChatRecord> =>
  requireRow(chatStore(db).find(reach, id), "chat_session_not_found", { id })

const requireChatForUpdate = async (call: Call, reach: TicketVisibility, id: string): Promise<ChatRecord> => {
  const row = await requireRow(chatStore(call.db).findForUpdate(reach, id), "chat_session_not_found", { id })
  call.describe({ targets: [{ type: "chat", id }] })
  return row
}

const listMessages = async (call: Call, chat: ChatRow, input: Omit<Input<Specs["listMessages"]>, "id">) => {
  const store = chatStore(call.db)
  const { rows, total } =
    input.after === undefined
      ? await store.listMessages(chat, pageOf(input))
      : await store.messagesAfter(chat, input.after, pageOf(input))
  return page({ rows: rows.map(toMessage), total }, input)
}

/** What both sides do with a chat. */
const createActs = ({ notifier, streams }: ChatNeeds) => ({
  async post(call: Call, chat: ChatRow, side: AuthorRole, input: NewMessage): Promise<MessageRow> {
    const { content, content_type = "text", client_message_id = null } = input
    const { db, now } = call
    const store = chatStore(db)
    const known =
      client_message_id === null ? undefined : await store.findMessage(chat, side, client_message_id)
    if (known) return known
    if (chat.message_count >= CHAT_MESSAGES_MAX)
      throw fault("invalid_parameter", { reason: `the chat has ${CHAT_MESSAGES_MAX} messages already` })
    const author = callerOf(call)
    const row: MessageRow = {
      ...{ organization_id: chat.organization_id, session_id: chat.id, sequence: chat.message_count + 1 },
      ...{ id: newId(), direction: directionOf(side), author_id: author.id, author_name: author.name },
      ...{ content, content_type, client_message_id, read_at: null, created_at: now },
    }
    await store.insertMessage(row)
    await store.update(chat, {
      ...(side === "customer"
        ? { agent_unread: chat.agent_unread + 1 }
        : { customer_unread: chat.customer_unread + 1 }),
      ...{
        status: chatStatusAfter(side),
        message_count: row.sequence,
        last_message_at: now,
        updated_at: now,
      },
    })
    call.committed(() => notifier.notify([chat.id]))
    return row
  },

  async read(call: Call, chat: ChatRow, side: AuthorRole) {
    const store = chatStore(call.db)
    await store.markRead(chat, side, call.now)
    await store.update(chat, side === "customer" ? { customer_unread: 0 } : { agent_unread: 0 })
    call.committed(() => notifier.notify([chat.id]))
  },

  async change(call: Call, chat: ChatRow, change: Partial<ChatRow>) {
    await chatStore(call.db).update(chat, { ...change, updated_at: call.now })
    call.committed(() => notifier.notify([chat.id]))
  },

  async follow(call: Call, chatId: string, reach: TicketVisibility, show: (chat: ChatRecord) => unknown) {
    return (await streams.open(call, { reach, chatId, show })) as never
  },
})

/** The chats of the caller's organization. */
export const chatHandlers = (needs: ChatNeeds) => {
  const acts = createActs(needs)
  return {
    async listChats(input, call) {
      const { rows, total } = await chatStore(call.db).list(await reachOf(call), input, pageOf(input))
      return page({ rows: rows.map(toChat), total }, input)
    },

    async createChat({ subject = null, message }: Input<Specs["createChat"]>, call: Call) {
      const { db, now, organization } = call
      const store = chatStore(db)
      if ((await store.countOpen(organization.id)) >= CHATS_OPEN_MAX)
        throw fault("invalid_parameter", { reason: `${CHATS_OPEN_MAX} chats are open already` })
      const asker = await askerOf(call)
      const row: ChatRow = {
        ...{ id: newId(), organization_id: organization.id, status: "open", subject },
        ...{ contact_id: asker.id, contact_name: asker.name, contact_email: asker.email },
        ...{ assignee_id: null, customer_unread: 0, agent_unread: 0, message_count: 0 },
        ...{ last_message_at: null, created_at: now, updated_at: now },
      }
      await store.insert(row)
      call.describe({ targets: [{ type: "chat", id: row.id }] })
      if (message !== undefined) await acts.post(call, row, "customer", { content: message })
      return toChat(await requireChat(call, await reachOf(call), row.id))
    },

    async getChat({ id }, call) {
      return toChat(await requireChat(call, await reachOf(call), id))
    },

    async closeChat({ id }, call) {
      const row = await requireChatForUpdate(call, await reachOf(call), id)
      if (row.status !== "resolved") await acts.change(call, row, { status: "resolved" })
      return toChat(await requireChat(call, await reachOf(call), id))
    },

    async readChat({ id }, call) {
      await acts.read(call, await requireChatForUpdate(call, await reachOf(call), id), "customer")
      return toChat(await requireChat(call, await reachOf(call), id))
    },

    async listMessages({ id, ...input }, call) {
      return listMessages(call, await requireChat(call, await reachOf(call), id), input)
    },

    async postMessage({ id, ...input }, call) {
      return toMessage(
        await acts.post(call, await requireChatForUpdate(call, await reachOf(call), id), "customer", input),
      )
    },

    streamChat: async ({ id }, call) => acts.follow(call, id, await reachOf(call), toChat),
  } satisfies Partial<All>
}

/** The same of all organizations, for those who answer them. */
export const agentChatHandlers = (needs: ChatNeeds, operator: Operator) => {
  const acts = createActs(needs)
  return {
    async agentListChats(input, call) {
      await operator.check(call)
      const reach = input.organization_id === undefined ? null : { organizationId: input.organization_id }
      const { rows, total } = await chatStore(call.db).list(reach, input, pageOf(input))
      return page({ rows: rows.map(toAgentChat), total }, input)
    },

    async agentUpdateChat({ id, ...change }, call) {
      await operator.check(call)
      const row = await requireChatForUpdate(call, null, id)
      const { assignee_id } = change
      if (typeof assignee_id === "string" && !(await operator.findAgent(call.db, assignee_id)))
        throw fault("member_not_found", { id: assignee_id })
      await acts.change(call, row, change)
      return toAgentChat(await requireChat(call, null, id))
    },

    async agentReadChat({ id }, call) {
      await operator.check(call)
      await acts.read(call, await requireChatForUpdate(call, null, id), "agent")
      return toAgentChat(await requireChat(call, null, id))
    },

    async agentListMessages({ id, ...input }, call) {
      await operator.check(call)
      return listMessages(call, await requireChat(call, null, id), input)
    },

    async agentPostMessage({ id, ...input }, call) {
      await operator.check(call)
      return toMessage(await acts.post(call, await requireChatForUpdate(call, null, id), "agent", input))
    },

    async agentStreamChat({ id }, call) {
      await operator.check(call)
      return acts.follow(call, id, null, toAgentChat)
    },
  } satisfies Partial<All>
}
