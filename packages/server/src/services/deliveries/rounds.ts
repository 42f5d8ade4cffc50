import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Claims } from "./claims.ts"
import type { DeliveryKind } from "./deliveries.ts"
import type { DispatchStore } from "./dispatch-store.ts"
import type { Lane } from "./lane.ts"
import type { Writer } from "./writer.ts"

const IDLE_MS_MAX = 300_000

interface RoundsNeeds {
  readonly lanes: ReadonlyMap<string, Lane>
  readonly kinds: ReadonlyMap<string, DeliveryKind>
  readonly store: DispatchStore
  readonly claims: Claims
  readonly writer: Writer
  readonly clock: Clock
  readonly log: Logger
  readonly worker: string
  /** It may have something to send. */
  readonly mayTurn: (lane: Lane) => void
  readonly forget: (lane: Lane) => void
  readonly pump: () => void
}

/** What is done by the clock. */
export const createRounds = (needs: RoundsNeeds) => {
  const { lanes, kinds, store, claims, writer, clock, log, worker, mayTurn, forget, pump } = needs

  const release = (idle: readonly Lane[]) => {
    for (const lane of idle) forget(lane)
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
      const idle: Lane[] = []
      for (const lane of lanes.values()) {
        if (lane.nextDueMs <= nowMs) {
          lane.nextDueMs = Number.POSITIVE_INFINITY
          lane.hasMore = true
        }
        if (lane.ready.length > 0 || lane.hasMore) mayTurn(lane)
        else if (lane.known.size === 0 && nowMs - lane.usedMs > IDLE_MS_MAX) idle.push(lane)
      }
      pump()
      claims.resume()
      if (writer.size() > 0) void writer.flush()
      if (idle.length > 0) release(idle)
    },

    /** Says that this process lives; when it was silent for too long, others may have taken its endpoints. */
    async beat() {
      if (lanes.size === 0) return
      try {
        if (await claims.beat()) return
      } catch (error) {
        log.warn({ error: String(error) }, "renewing the lease on delivery endpoints failed; will retry")
        return
      }
      log.warn(
        { endpoints: lanes.size },
        "lease on delivery endpoints expired; deliveries in flight were aborted",
      )
      for (const lane of lanes.values()) {
        lane.isOurs = false
        claims.claim(lane.of)
      }
    },

    /** Takes over endpoints of dead processes, and deliveries whose notification was lost. */
    async look() {
      try {
        for (const { workerId, ...lane } of await store.look(new Date(clock.now()))) {
          const ours = lanes.get(lane.endpointId)
          if (ours) {
            if (ours.known.size > 0) continue
            ours.hasMore = true
            mayTurn(ours)
          } else if (kinds.has(lane.kind) && (workerId === null || workerId === worker)) {
            claims.claim(lane)
          }
        }
        pump()
      } catch (error) {
        log.warn({ error: String(error) }, "polling for due deliveries failed; will retry")
      }
    },
  }
}
