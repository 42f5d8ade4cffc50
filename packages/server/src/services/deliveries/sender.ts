import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { type AttemptMade, attemptDelivery } from "./attempt.ts"
import type { DeliveryKind, Endpoint } from "./deliveries.ts"
import type { PendingDelivery, Settlement } from "./dispatch-store.ts"
import { conclude, type EndpointQueue, isCutOff, takeSettings } from "./endpoint-queue.ts"
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
const givenUp = (
  { id, attemptCount }: PendingDelivery,
  status: "cancelled" | "dead_lettered",
): Settlement => ({
  ...{ id, attemptCount, status, dueAt: null, attempt: null },
})

/** Makes one attempt of a delivery, and hands on what came of it. */
export const createSender = (needs: SenderNeeds) => {
  const { kinds, outbound, clock, log, delayFactor, loader, writer, notices } = needs
  const stopping = new AbortController()

  const finish = (
    queue: EndpointQueue,
    delivery: PendingDelivery,
    endpoint: Endpoint,
    { attempt, verdict }: AttemptMade,
  ) => {
    const { settlement, disable } = conclude(queue, delivery, verdict, {
      nowMs: clock.now(),
      schedule: endpoint.retryScheduleSeconds?.map(seconds => seconds * 1_000),
      delayFactor,
      random: Math.random,
    })
    if (isCutOff(queue)) {
      // Its turn comes in minutes: others can use the memory.
      loader.drop(queue)
      queue.hasMore = true
    }
    const afterwards = notices.after(queue, delivery, settlement.status, disable)
    writer.add({ queue, delivery, settlement: { ...settlement, attempt }, afterwards })
  }

  const attempt = async (queue: EndpointQueue, delivery: PendingDelivery): Promise<void> => {
    const { message } = delivery
    const endpoints = await kinds.get(queue.of.kind)?.resolve([delivery.endpointId])
    const endpoint = endpoints?.get(delivery.endpointId)
    if (!endpoint || !message) {
      const settlement = givenUp(delivery, endpoint ? "dead_lettered" : "cancelled")
      return writer.add({ queue, delivery, settlement, afterwards: undefined })
    }
    takeSettings(queue, endpoint)
    const made = await attemptDelivery(outbound, {
      ...{ deliveryId: delivery.id, number: delivery.attemptCount + 1, trigger: delivery.trigger },
      ...{ message, endpoint, nowMs: clock.now(), signal: stopping.signal },
    })
    // Cut off by our own end: it says nothing of the endpoint, and is sent again.
    if (stopping.signal.aborted) queue.known.delete(delivery.id)
    else finish(queue, delivery, endpoint, made)
  }

  return {
    async send(queue: EndpointQueue, delivery: PendingDelivery): Promise<void> {
      try {
        await attempt(queue, delivery)
      } catch (error) {
        // Not the endpoint's doing: it stays pending.
        queue.known.delete(delivery.id)
        queue.nextDueMs = Math.min(queue.nextDueMs, clock.now() + PUT_OFF_MS)
        log.error({ err: error, delivery: delivery.id }, "attempting a delivery failed")
      }
    },
    /** Ends what is under way without an outcome. */
    stop: () => stopping.abort(new Error("the server is shutting down")),
  }
}
