import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { type AttemptMade, attemptDelivery } from "./attempt.ts"
import type { DeliveryKind, Endpoint } from "./deliveries.ts"
import type { Owed, Settlement } from "./dispatch-store.ts"
import { conclude, isCutOff, type Lane, takeSettings } from "./lane.ts"
import type { Loader } from "./loader.ts"
import type { Notices } from "./notices.ts"
import type { Writer } from "./writer.ts"

const PUT_OFF_MS = 1_000

interface SenderNeeds {
  readonly kinds: ReadonlyMap<string, DeliveryKind>
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
  /** All delays are taken times this. */
  readonly delayFactor: number
  readonly loader: Loader
  readonly writer: Writer
  readonly notices: Notices
}

/** Without an attempt: its endpoint or its message is gone. */
const givenUp = ({ id, attemptCount }: Owed, status: "cancelled" | "dead_lettered"): Settlement => ({
  ...{ id, attemptCount, status, dueAt: null, attempt: null },
})

/** Makes one attempt of a delivery, and hands on what came of it. */
export const createSender = (needs: SenderNeeds) => {
  const { kinds, outbound, clock, log, delayFactor, loader, writer, notices } = needs
  const stopping = new AbortController()

  const finish = (lane: Lane, owed: Owed, endpoint: Endpoint, { attempt, verdict }: AttemptMade) => {
    const { settlement, disable } = conclude(lane, owed, verdict, {
      nowMs: clock.now(),
      schedule: endpoint.retryScheduleSeconds?.map(seconds => seconds * 1_000),
      delayFactor,
      random: Math.random,
    })
    if (isCutOff(lane)) {
      // Its turn comes in minutes: others can use the memory.
      loader.drop(lane)
      lane.hasMore = true
    }
    const afterwards = notices.after(lane, owed, settlement.status, disable)
    writer.add({ lane, owed, settlement: { ...settlement, attempt }, afterwards })
  }

  const attempt = async (lane: Lane, owed: Owed): Promise<void> => {
    const { message } = owed
    const endpoints = await kinds.get(lane.of.kind)?.resolve([owed.endpointId])
    const endpoint = endpoints?.get(owed.endpointId)
    if (!endpoint || !message) {
      const settlement = givenUp(owed, endpoint ? "dead_lettered" : "cancelled")
      return writer.add({ lane, owed, settlement, afterwards: undefined })
    }
    takeSettings(lane, endpoint)
    const made = await attemptDelivery(outbound, {
      ...{ deliveryId: owed.id, number: owed.attemptCount + 1, trigger: owed.trigger },
      ...{ message, endpoint, nowMs: clock.now(), signal: stopping.signal },
    })
    // Cut off by our own end: it says nothing of the endpoint, and is sent again.
    if (stopping.signal.aborted) lane.known.delete(owed.id)
    else finish(lane, owed, endpoint, made)
  }

  return {
    async send(lane: Lane, owed: Owed): Promise<void> {
      try {
        await attempt(lane, owed)
      } catch (error) {
        // Not the endpoint's doing: it stays owed.
        lane.known.delete(owed.id)
        lane.nextDueMs = Math.min(lane.nextDueMs, clock.now() + PUT_OFF_MS)
        log.error({ err: error, delivery: owed.id }, "attempting a delivery failed")
      }
    },
    /** Ends what is under way without an outcome. */
    stop: () => stopping.abort(new Error("the server is shutting down")),
  }
}
