/** A chat as server-sent events. */
import { Readable } from "node:stream"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Bell } from "./bell.ts"
import { type ChatRecord, chatStore } from "./chat-store.ts"
import { toMessage } from "./payloads.ts"
import type { Reach } from "./ticket-store.ts"

/** Proxies close what is silent for longer; it also finds what a process that died did not tell of. */
const PAUSE_MS_MAX = 15_000
/** Who may no longer look is shut out after this time at the latest. */
const STREAM_MS_MAX = 900_000
/** Streams of one organization at this process. */
const STREAMS_MAX = 50
const MESSAGES_AT_ONCE = 100

export interface Following {
  /** Whose streams are counted. */
  readonly organizationId: string
  readonly reach: Reach
  readonly chatId: string
  /** Messages after this sequence; undefined: those that come from now on. */
  readonly after: number | undefined
  readonly show: (chat: ChatRecord) => unknown
  readonly signal: AbortSignal
}

export interface Streams {
  /** Throws `chat_session_not_found` and `rate_limited`. */
  open(following: Following): Promise<Readable>
}

const event = (name: string, data: unknown, id?: number): string =>
  `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`

/** Resolves at `wake`, after the longest pause, or when it is over. */
const createPause = () => {
  let isWoken = false
  let resume: (() => void) | undefined
  return {
    wake() {
      isWoken = true
      resume?.()
    },
    async wait(ms: number): Promise<void> {
      if (!isWoken) {
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      isWoken = false
      resume = undefined
    },
  }
}

export const createStreams = (needs: {
  readonly db: Db
  readonly bell: Bell
  readonly clock: Clock
  readonly stopping: AbortSignal
}): Streams => {
  const { db, bell, clock, stopping } = needs
  const counts = new Map<string, number>()

  const read = async ({ reach, chatId }: Following): Promise<ChatRecord | undefined> =>
    chatStore(db).find(reach, chatId)

  async function* events(following: Following, first: ChatRecord): AsyncGenerator<string> {
    const { chatId, show, signal } = following
    const pause = createPause()
    using _heard = bell.hear(chatId, pause.wake)
    const ended = AbortSignal.any([signal, stopping])
    ended.addEventListener("abort", pause.wake)
    const untilMs = clock.now() + STREAM_MS_MAX
    let sequence = following.after ?? first.message_count
    let shown = ""
    while (!ended.aborted && clock.now() < untilMs) {
      const chat = await read(following)
      if (!chat) return
      const { rows } = await chatStore(db).messagesAfter(chat, sequence, {
        limit: MESSAGES_AT_ONCE,
        offset: 0,
      })
      for (const row of rows) {
        yield event("message", toMessage(row), row.sequence)
        sequence = row.sequence
      }
      const next = event("session", show(chat))
      yield next === shown ? ": still here\n\n" : next
      shown = next
      if (rows.length < MESSAGES_AT_ONCE) await pause.wait(PAUSE_MS_MAX)
    }
  }

  return {
    async open(following) {
      const { organizationId, chatId } = following
      const first = await read(following)
      if (!first) throw fault("chat_session_not_found", { id: chatId })
      const count = counts.get(organizationId) ?? 0
      if (count >= STREAMS_MAX) throw fault("rate_limited")
      counts.set(organizationId, count + 1)
      const stream = Readable.from(events(following, first))
      // Not in the generator: a caller that hangs up at once leaves it unstarted.
      stream.once("close", () => counts.set(organizationId, (counts.get(organizationId) ?? 1) - 1))
      return stream
    },
  }
}
