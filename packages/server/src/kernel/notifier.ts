import { createDebouncedPublisher } from "./debounced-publisher.ts"
import type { Fanout } from "./fanout.ts"
import type { Logger } from "./log.ts"

export interface Notifier extends Disposable {
  /** Something of these is new, and committed. */
  notify(ids: readonly string[]): void
  /** Is told of one until disposed, whatever process it is new in; also when news may have been lost. */
  subscribe(id: string, listener: () => void): Disposable
}

/** Wakes who waits for news of a thing: in this process at once, in others every 20 ms at most. */
export const createNotifier = (fanout: Fanout, log: Logger, topic: string): Notifier => {
  const listeners = new Map<string, Set<() => void>>()
  const publisher = createDebouncedPublisher(fanout, log, topic)

  const wake = (id: string) => {
    for (const listener of listeners.get(id) ?? []) listener()
  }
  fanout.subscribe(topic, ids => {
    for (const id of ids ?? listeners.keys()) wake(id)
  })

  return {
    notify(ids) {
      for (const id of ids) wake(id)
      publisher.publish(ids)
    },
    subscribe(id, listener) {
      const subscribed = listeners.get(id) ?? new Set()
      listeners.set(id, subscribed.add(listener))
      return {
        [Symbol.dispose]() {
          subscribed.delete(listener)
          if (subscribed.size === 0 && listeners.get(id) === subscribed) listeners.delete(id)
        },
      }
    },
    [Symbol.dispose]: () => publisher[Symbol.dispose](),
  }
}
