import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"

const TOPIC = "inboxes"
/** A NOTIFY holds a lock of the whole server at commit, so it goes neither with each entry nor with its transaction. */
const EVERY_MS = 20
/** A NOTIFY takes less than 8,000 bytes. */
const IDS_MAX = 200

export interface Live extends Disposable {
  /** Something of these inboxes has changed, and is committed. */
  tell(userIds: readonly string[]): void
  /** Hears that something of the inbox may have changed, in whatever process. */
  listen(userId: string, hear: () => void): Disposable
}

/** News of inboxes, to the streams of this process at once, and to those of others every 20 ms at most. */
export const createLive = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly log: Logger
}): Live => {
  const { db, changes, log } = needs
  const listeners = new Map<string, Set<() => void>>()
  const waiting = new Set<string>()
  let pause: NodeJS.Timeout | undefined

  const wake = (userId: string) => {
    for (const hear of listeners.get(userId) ?? []) hear()
  }

  const send = () => {
    pause = undefined
    if (waiting.size === 0) return
    const ids = [...waiting].slice(0, IDS_MAX)
    for (const id of ids) waiting.delete(id)
    pause = setTimeout(send, EVERY_MS).unref()
    // The streams' own look finds it a little later.
    changes
      .announce(db, TOPIC, ids.join(","))
      .catch(error => log.debug({ error: String(error) }, "the news of inboxes are lost"))
  }

  changes.subscribe(TOPIC, ids => {
    for (const userId of ids?.split(",") ?? listeners.keys()) wake(userId)
  })

  return {
    tell(userIds) {
      for (const userId of userIds) {
        waiting.add(userId)
        wake(userId)
      }
      if (!pause) send()
    },

    listen(userId, hear) {
      const hearing = listeners.get(userId) ?? new Set()
      listeners.set(userId, hearing.add(hear))
      return {
        [Symbol.dispose]() {
          hearing.delete(hear)
          if (hearing.size === 0 && listeners.get(userId) === hearing) listeners.delete(userId)
        },
      }
    },

    [Symbol.dispose]: () => clearTimeout(pause),
  }
}
