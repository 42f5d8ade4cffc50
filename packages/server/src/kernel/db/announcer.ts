import type { Logger } from "../log.ts"
import type { Changes } from "./changes.ts"
import type { Db } from "./database.ts"

/** A NOTIFY holds a lock of the whole server at commit, so it goes neither with each change nor with its transaction. */
const EVERY_MS = 20
/** A NOTIFY takes less than 8,000 bytes, and an id has 37 with its comma. */
const IDS_MAX = 200

export interface Announcer extends Disposable {
  tell(ids: readonly string[]): void
}

/** Tells all processes of things of a topic, their ids with commas between; what comes within 20 ms goes out together. */
export const createAnnouncer = (db: Db, changes: Changes, log: Logger, topic: string): Announcer => {
  const waiting = new Set<string>()
  let pause: NodeJS.Timeout | undefined

  const send = () => {
    pause = undefined
    if (waiting.size === 0) return
    const ids = [...waiting].slice(0, IDS_MAX)
    for (const id of ids) waiting.delete(id)
    pause = setTimeout(send, EVERY_MS).unref()
    // Who listens also looks by themselves, a little later.
    changes
      .announce(db, topic, ids.join(","))
      .catch(error => log.debug({ error: String(error), topic }, "news are lost"))
  }

  return {
    tell(ids) {
      for (const id of ids) waiting.add(id)
      if (!pause) send()
    },
    [Symbol.dispose]: () => clearTimeout(pause),
  }
}
