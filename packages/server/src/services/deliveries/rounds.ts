import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Claims } from "./claims.ts"
import type { DeliveryKind } from "./deliveries.ts"
import type { DispatchStore } from "./dispatch-store.ts"
import type { EndpointQueue } from "./endpoint-queue.ts"
import type { Writer } from "./writer.ts"

const IDLE_MS_MAX = 300_000

interface RoundsNeeds {
  readonly queues: ReadonlyMap<string, EndpointQueue>
  readonly kinds: ReadonlyMap<string, DeliveryKind>
  readonly store: DispatchStore
  readonly claims: Claims
  readonly writer: Writer
  readonly clock: Clock
  readonly log: Logger
  readonly worker: string
  /** It may have something to send. */
  readonly mayTurn: (queue: EndpointQueue) => void
  readonly forget: (queue: EndpointQueue) => void
  readonly pump: () => void
}

export const LOOK_FAILED = "polling for due deliveries failed; will retry"

/** What is done by the clock. */
export const createRounds = (needs: RoundsNeeds) => {
  const { queues, kinds, store, claims, writer, clock, log, worker, mayTurn, forget, pump } = needs

  const release = (idle: readonly EndpointQueue[]) => {
    for (const queue of idle) forget(queue)
    store.release(idle.map(({ of }) => of.endpointId)).catch(error => {
      log.warn(
        { error: String(error) },
        "releasing idle delivery endpoints failed; their lease must expire first",
      )
    })
  }

  return {
    /** Retries that fall due, and endpoints that may be sent to again. */
    tick() {
      const nowMs = clock.now()
      const idle: EndpointQueue[] = []
      for (const queue of queues.values()) {
        if (queue.nextDueMs <= nowMs) {
          queue.nextDueMs = Number.POSITIVE_INFINITY
          queue.hasMore = true
        }
        if (queue.ready.length > 0 || queue.hasMore) mayTurn(queue)
        else if (queue.known.size === 0 && nowMs - queue.usedMs > IDLE_MS_MAX) idle.push(queue)
      }
      pump()
      claims.resume()
      if (writer.size() > 0) void writer.flush()
      if (idle.length > 0) release(idle)
    },

    /** Says that this process lives; when it was silent for too long, others may have taken its endpoints. */
    async beat() {
      if (queues.size === 0) return
      if (await claims.beat()) return
      log.warn(
        { endpoints: queues.size },
        "lease on delivery endpoints expired; deliveries in flight were aborted",
      )
      for (const queue of queues.values()) {
        queue.isOurs = false
        claims.claim(queue.of)
      }
    },

    /** Takes over endpoints of dead processes, and deliveries whose notification was lost. */
    async look() {
      for (const { workerId, ...queue } of await store.look(new Date(clock.now()))) {
        const ours = queues.get(queue.endpointId)
        if (ours) {
          if (ours.known.size > 0) continue
          ours.hasMore = true
          mayTurn(ours)
        } else if (kinds.has(queue.kind) && (workerId === null || workerId === worker)) {
          claims.claim(queue)
        }
      }
      pump()
    },
  }
}
