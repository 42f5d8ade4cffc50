import type { Changes } from "../db/changes.ts"
import type { Db } from "../db/database.ts"
import type { Logger } from "../log.ts"

export const JOBS_TOPIC = "jobs"
/** A NOTIFY holds a lock of the whole server at commit, so it goes neither with each job nor with its transaction. */
const EVERY_MS = 20

/** Tells all processes which queues have work; what comes within 20 ms goes out together. */
export const createAnnouncer = (db: Db, changes: Changes, log: Logger) => {
  const waiting = new Set<string>()
  let pause: NodeJS.Timeout | undefined

  const send = () => {
    pause = undefined
    if (waiting.size === 0) return
    const names = [...waiting].join(",")
    waiting.clear()
    pause = setTimeout(send, EVERY_MS).unref()
    // Their own look finds it a little later.
    changes
      .announce(db, JOBS_TOPIC, names)
      .catch(error => log.debug({ error: String(error) }, "the news of jobs is lost"))
  }

  return {
    tell(queues: readonly string[]) {
      for (const queue of queues) waiting.add(queue)
      if (!pause) send()
    },
    [Symbol.dispose]: () => clearTimeout(pause),
  }
}
