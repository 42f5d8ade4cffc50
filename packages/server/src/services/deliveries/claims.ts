import { createAnnouncer } from "../../kernel/announcer.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Fanout } from "../../kernel/fanout.ts"
import type { Logger } from "../../kernel/log.ts"
import type { ClaimedLane, DispatchStore, LaneOf } from "./dispatch-store.ts"

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
  readonly claimed: (lanes: readonly ClaimedLane[]) => void
  /** Others send to them. */
  readonly refused: (endpointIds: readonly string[]) => void
}

/** Which process sends to which endpoint. */
export const createClaims = ({ store, fanout, clock, log, claimed, refused }: ClaimsNeeds) => {
  const wanted = new Map<string, LaneOf>()
  const foreign = new Map<string, number>()
  const announcer = createAnnouncer(fanout, log, WORK_TOPIC)
  let isClaiming = false
  let leasedUntilMs = 0

  /** Gives false when others were free to take what this process had. */
  const beat = async (): Promise<boolean> => {
    const nowMs = clock.now()
    const wasLive = await store.beat(new Date(nowMs), new Date(nowMs + LEASE_MS))
    leasedUntilMs = nowMs + LEASE_MS
    return wasLive
  }

  const claim = async (lanes: readonly LaneOf[]) => {
    if (clock.now() >= leasedUntilMs - LEASE_MS / 3) await beat()
    const taken = await store.claim(new Date(clock.now()), lanes)
    const ours = new Set(taken.map(({ endpointId }) => endpointId))
    const others = lanes.map(({ endpointId }) => endpointId).filter(id => !ours.has(id))
    const nowMs = clock.now()
    for (const [id, untilMs] of foreign) if (untilMs <= nowMs) foreign.delete(id)
    for (const id of others) foreign.set(id, nowMs + FOREIGN_MS)
    announcer.tell(others)
    refused(others)
    claimed(taken)
  }

  const run = async () => {
    if (isClaiming) return
    isClaiming = true
    try {
      while (wanted.size > 0) {
        const lanes = [...wanted.values()].slice(0, CLAIMED_AT_ONCE)
        for (const { endpointId } of lanes) wanted.delete(endpointId)
        await claim(lanes).catch(error => {
          for (const lane of lanes) wanted.set(lane.endpointId, lane)
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
    want(lane: LaneOf): void {
      const untilMs = foreign.get(lane.endpointId) ?? 0
      if (untilMs > clock.now()) announcer.tell([lane.endpointId])
      else this.claim(lane)
    },
    /** After a failure. */
    resume(): void {
      if (wanted.size > 0) void run()
    },
    claim(lane: LaneOf): void {
      foreign.delete(lane.endpointId)
      wanted.set(lane.endpointId, lane)
      void run()
    },
    [Symbol.dispose]: () => announcer[Symbol.dispose](),
  }
}

export type Claims = ReturnType<typeof createClaims>
