/** A chat as server-sent events. */

import type { Readable } from "node:stream"
import { CHAT_MESSAGES_MAX } from "@svc/contract"
import { type EventStreams, eventText, lastEventNumber, type Watch } from "../../core/event-streams.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Notifier } from "../../kernel/notifier.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { type ChatRecord, chatStore } from "./chat-store.ts"
import { toMessage } from "./payloads.ts"
import type { TicketVisibility } from "./ticket-store.ts"

export const STREAM_BOUNDS = {
  /** Of one organization at this process. */
  groupMax: 50,
  /** Whoever is no agent any more is shut out after this time at the latest. */
  lastsMsMax: 900_000,
} as const
const MESSAGES_AT_ONCE = 100

export interface Following {
  readonly reach: TicketVisibility
  readonly chatId: string
  readonly show: (chat: ChatRecord) => unknown
}

export interface ChatStreams {
  /** Throws `chat_session_not_found` and `rate_limited`. */
  open(call: Call, following: Following): Promise<Readable>
}

export const createChatStreams = (needs: {
  readonly db: Db
  readonly notifier: Notifier
  readonly streams: EventStreams
}): ChatStreams => {
  const { notifier, streams } = needs
  const store = chatStore(needs.db)

  /** Messages after a sequence, and the chat itself whenever it has changed. */
  async function* events(
    { reach, chatId, show }: Following,
    after: number,
    watch: Watch,
  ): AsyncGenerator<string> {
    using _heard = notifier.subscribe(chatId, watch.wake)
    let sequence = after
    let shown = ""
    while (!watch.signal.aborted) {
      const chat = await store.find(reach, chatId)
      if (!chat) return
      const { rows } = await store.messagesAfter(chat, sequence, { limit: MESSAGES_AT_ONCE, offset: 0 })
      for (const row of rows) {
        yield eventText("message", JSON.stringify(toMessage(row)), row.sequence)
        sequence = row.sequence
      }
      const next = eventText("session", JSON.stringify(show(chat)))
      if (next !== shown) yield next
      shown = next
      if (rows.length < MESSAGES_AT_ONCE) yield* watch.pause()
    }
  }

  return {
    async open(call, following) {
      const { reach, chatId } = following
      const first = await requireRow(store.find(reach, chatId), "chat_session_not_found", { id: chatId })
      // Without a number: those that come from now on.
      const after = Math.min(lastEventNumber(call) ?? first.message_count, CHAT_MESSAGES_MAX)
      return streams.open(call, call.organization.id, watch => events(following, after, watch))
    },
  }
}
