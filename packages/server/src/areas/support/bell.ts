/** Tells the streams of every process which chats have something new. */
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"

const TOPIC = "support.chats"
/** Chats that changed within this time are told of by one notification. */
const COALESCE_MS = 25
/** A payload of PostgreSQL's NOTIFY has less than 8,000 bytes, and an id 37 with its comma. */
const IDS_MAX = 200

export interface Bell extends AsyncDisposable {
  /** Call it once the change is committed. */
  ring(chatId: string): void
  /** Hears of one chat until disposed; also when the news were interrupted, and something may be new. */
  hear(chatId: string, listener: () => void): Disposable
}

export const createBell = (needs: {
  readonly database: Database
  readonly changes: Changes
  readonly log: Logger
}): Bell => {
  const { database, changes, log } = needs
  const listeners = new Map<string, Set<() => void>>()
  let waiting = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let telling: Promise<void> = Promise.resolve()

  const hearAll = () => {
    for (const of of listeners.values()) for (const listener of of) listener()
  }
  changes.subscribe(TOPIC, ids => {
    if (ids === undefined) return hearAll()
    for (const id of ids.split(",")) for (const listener of listeners.get(id) ?? []) listener()
  })

  /** Outside of any transaction: a NOTIFY within makes commits wait for each other. */
  const tell = async () => {
    const ids = [...waiting]
    waiting = new Set()
    timer = undefined
    for (let at = 0; at < ids.length; at += IDS_MAX)
      await changes.announce(database.db, TOPIC, ids.slice(at, at + IDS_MAX).join(","))
  }
  const tellSoon = () => {
    telling = telling
      .then(tell)
      .catch(error => log.warn({ err: error }, "other processes were not told of new chat messages"))
  }

  return {
    ring(chatId) {
      changes.applied(TOPIC, chatId)
      waiting.add(chatId)
      timer ??= setTimeout(tellSoon, COALESCE_MS).unref()
    },
    hear(chatId, listener) {
      const of = listeners.get(chatId) ?? new Set()
      listeners.set(chatId, of.add(listener))
      return {
        [Symbol.dispose]() {
          of.delete(listener)
          if (of.size === 0) listeners.delete(chatId)
        },
      }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer)
      await telling
    },
  }
}
