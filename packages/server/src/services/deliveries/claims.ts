import type { Clock } from "../../kernel/clock.ts"
import { createDebouncedPublisher } from "../../kernel/debounced-publisher.ts"
import type { Fanout } from "../../kernel/fanout.ts"
import type { Logger } from "../../kernel/log.ts"
import type { ClaimedQueue, DispatchStore, QueueOf } from "./dispatch-store.ts"

/** After a process's last sign of life others send in its place. */
const LEASE_MS = 9_000
const CLAIMED_AT_ONCE = 500
/** What another process sends to is not asked for again for this long. */
const FOREIGN_MS = 2_000

/** There is something due to these endpoints. */
export const WORK_TOPIC = "deliveries.work"
/** Topic: the pending deliveries of an endpoint were changed. */
export const CHANGED_TOPIC = "deliveries.changed"

interface ClaimsNeeds {
  readonly store: DispatchStore
  readonly fanout: Fanout
  readonly clock: Clock
  readonly log: Logger
  readonly claimed: (queues: readonly ClaimedQueue[]) => void
  /** Others send to them. */
  readonly refused: (endpointIds: readonly string[]) => void
}

/** Which process sends to which endpoint. */
export const createClaims = ({ store, fanout, clock, log, claimed, refused }: ClaimsNeeds) => {
  const wanted = new Map<string, QueueOf>()
  const foreign = new Map<string, number>()
  const publisher = createDebouncedPublisher(fanout, log, WORK_TOPIC)
  let isClaiming = false
  let leasedUntilMs = 0

  /** Gives false when others were free to take what this process had. */
  const beat = async (): Promise<boolean> => {
    const nowMs = clock.now()
    const wasLive = await store.beat(new Date(nowMs), new Date(nowMs + LEASE_MS))
    leasedUntilMs = nowMs + LEASE_MS
    return wasLive
  }

  const claim = async (queues: readonly QueueOf[]) => {
    if (clock.now() >= leasedUntilMs - LEASE_MS / 3) await beat()
    const taken = await store.claim(new Date(clock.now()), queues)
    const ours = new Set(taken.map(({ endpointId }) => endpointId))
    const others = queues.map(({ endpointId }) => endpointId).filter(id => !ours.has(id))
    const nowMs = clock.now()
    for (const [id, untilMs] of foreign) if (untilMs <= nowMs) foreign.delete(id)
    for (const id of others) foreign.set(id, nowMs + FOREIGN_MS)
    publisher.publish(others)
    refused(others)
    claimed(taken)
  }

  const run = async () => {
    if (isClaiming) return
    isClaiming = true
    try {
      while (wanted.size > 0) {
        const queues = [...wanted.values()].slice(0, CLAIMED_AT_ONCE)
        for (const { endpointId } of queues) wanted.delete(endpointId)
        await claim(queues).catch(error => {
          for (const queue of queues) wanted.set(queue.endpointId, queue)
          throw error
        })
      }
    } catch (error) {
      log.warn({ error: String(error) }, "claiming delivery endpoints failed; will retry")
    } finally {
      isClaiming = false
    }
  }

  return {
    beat,
    /** Whether this process may still act as the one that sends. */
    isLive: () => clock.now() < leasedUntilMs,
    /** Claims the endpoint, or notifies the process that has it of new work. */
    want(queue: QueueOf): void {
      const untilMs = foreign.get(queue.endpointId) ?? 0
      if (untilMs > clock.now()) publisher.publish([queue.endpointId])
      else this.claim(queue)
    },
    /** After a failure. */
    resume(): void {
      if (wanted.size > 0) void run()
    },
    claim(queue: QueueOf): void {
      foreign.delete(queue.endpointId)
      wanted.set(queue.endpointId, queue)
      void run()
    },
    [Symbol.dispose]: () => publisher[Symbol.dispose](),
  }
}

export type Claims = ReturnType<typeof createClaims>
