import { FANOUT_IDS_MAX, type Fanout } from "./fanout.ts"
import type { Logger } from "./log.ts"

/** A NOTIFY holds a lock of the whole server at commit, so it goes neither with each change nor with its transaction. */
const EVERY_MS = 20

export interface DebouncedPublisher extends Disposable {
  publish(ids: readonly string[]): void
}

/** Publishes to all processes things of a topic; what comes within 20 ms goes out together. */
export const createDebouncedPublisher = (fanout: Fanout, log: Logger, topic: string): DebouncedPublisher => {
  const waiting = new Set<string>()
  let pause: NodeJS.Timeout | undefined

  const send = () => {
    pause = undefined
    if (waiting.size === 0) return
    const ids = [...waiting].slice(0, FANOUT_IDS_MAX)
    for (const id of ids) waiting.delete(id)
    pause = setTimeout(send, EVERY_MS).unref()
    // Who listens also looks by themselves, a little later.
    fanout
      .tell(topic, ids)
      .catch(error =>
        log.debug(
          { error: String(error), topic },
          "publishing a notification failed; receivers find the work by polling",
        ),
      )
  }

  return {
    publish(ids) {
      for (const id of ids) waiting.add(id)
      if (!pause) send()
    },
    [Symbol.dispose]: () => clearTimeout(pause),
  }
}
