import { createAnnouncer } from "./announcer.ts"
import type { Fanout } from "./fanout.ts"
import type { Logger } from "./log.ts"

export interface Bell extends Disposable {
  /** Something of these is new, and committed. */
  ring(ids: readonly string[]): void
  /** Hears of one until disposed, whatever process it is new in; also when news may have been lost. */
  hear(id: string, listener: () => void): Disposable
}

/** Wakes who waits for news of a thing: in this process at once, in others every 20 ms at most. */
export const createBell = (fanout: Fanout, log: Logger, topic: string): Bell => {
  const listeners = new Map<string, Set<() => void>>()
  const announcer = createAnnouncer(fanout, log, topic)

  const wake = (id: string) => {
    for (const listener of listeners.get(id) ?? []) listener()
  }
  fanout.subscribe(topic, ids => {
    for (const id of ids ?? listeners.keys()) wake(id)
  })

  return {
    ring(ids) {
      for (const id of ids) wake(id)
      announcer.tell(ids)
    },
    hear(id, listener) {
      const hearing = listeners.get(id) ?? new Set()
      listeners.set(id, hearing.add(listener))
      return {
        [Symbol.dispose]() {
          hearing.delete(listener)
          if (hearing.size === 0 && listeners.get(id) === hearing) listeners.delete(id)
        },
      }
    },
    [Symbol.dispose]: () => announcer[Symbol.dispose](),
  }
}
