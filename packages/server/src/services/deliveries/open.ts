import { afterCommit, type Db } from "../../kernel/db/database.ts"
import { every, stopAll } from "../../kernel/every.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { Family, MetricSources } from "../../kernel/metrics.ts"
import { encrypted } from "./at-rest.ts"
import { attemptDelivery } from "./attempt.ts"
import { CHANGED_TOPIC } from "./claims.ts"
import type { Deliveries, Delivery, DeliveryKind, Endpoint, EndpointOf, TestMessage } from "./deliveries.ts"
import { createDispatcher, type Dispatcher, type DispatcherNeeds } from "./dispatcher.ts"
import { createDays, type Days, turnDays } from "./partitions.ts"
import { buryAll, forgetFailures, replayRange, sendAgain, unblock } from "./pending.ts"
import { LOOK_FAILED } from "./rounds.ts"
import { isSuccess } from "./rules.ts"
import { findDelivery, insertDeliveries, insertTest, listDeliveries, messageOf, readHealth } from "./store.ts"

const TICK_EVERY_MS = 250
const BEAT_EVERY_MS = 2_000
/** News can be lost; then work is found this late. One statement for all endpoints. */
const LOOK_EVERY_MS = 2_000
const PRUNE_EVERY_MS = 3_600_000
const RETRIES_MAX = 20
const DATA_BYTES_MAX = 262_144

export interface DeliveriesNeeds extends Omit<DispatcherNeeds, "kinds"> {
  readonly jobs: Jobs
  readonly metrics: MetricSources
}

export interface RunningDeliveries extends AsyncDisposable {
  readonly deliveries: Deliveries
  /** Begins to send, in the background: the caller may have a transaction open, and must not wait for another connection. */
  start(): void
  /** Sends nothing more, and waits this long at most for what is under way. */
  drain(waitMsMax: number): Promise<void>
}

const figuresOf = (dispatcher: Dispatcher): Family[] => {
  const { flying, queues, unwritten } = dispatcher.figures()
  const gauge = (name: string, help: string, value: number): Family => ({
    name,
    type: "gauge",
    help,
    samples: [{ labels: {}, value }],
  })
  return [
    gauge("svc_deliveries_under_way", "Deliveries that are being attempted.", flying),
    gauge("svc_delivery_endpoints", "Endpoints that this process sends to.", queues),
    gauge("svc_deliveries_unwritten", "Attempts whose outcome is not written yet.", unwritten),
  ]
}

/** A delivery that has had its one attempt. */
const deliverTest = async (
  { outbound, database, clock, atRest }: DeliveriesNeeds,
  days: Days,
  message: TestMessage,
  endpoint: Endpoint,
): Promise<Delivery> => {
  const id = newId()
  const createdAt = new Date(clock.now())
  const { attempt, verdict } = await attemptDelivery(outbound, {
    ...{ deliveryId: id, number: 1, trigger: "test", message: messageOf(message), endpoint },
    ...{ nowMs: createdAt.getTime(), signal: new AbortController().signal },
  })
  const delivery: Delivery = {
    ...{ id, tenantId: message.tenantId, endpointId: message.endpointId },
    ...{ eventId: message.id, eventType: message.type, status: isSuccess(verdict) ? "delivered" : "failed" },
    ...{ attemptCount: 1, maxRetries: 0, nextAttemptAt: null, createdAt, completedAt: new Date(clock.now()) },
    attempts: [attempt],
  }
  await days.ensure(database.db)
  for (const stored of await encrypted(atRest, [message])) await insertTest(database.db, stored, delivery)
  return delivery
}

const checkMessage = ({
  data,
  recipients,
}: {
  data: string
  recipients: readonly { maxRetries: number }[]
}) => {
  const bytes = Buffer.byteLength(data)
  if (bytes > DATA_BYTES_MAX) throw new RangeError(`a message has ${bytes} bytes of data`)
  const over = recipients.find(({ maxRetries }) => maxRetries < 0 || maxRetries > RETRIES_MAX)
  if (over) throw new RangeError(`${over.maxRetries} retries`)
}

/** The engine of deliveries; nothing is sent before `start`. */
export const openDeliveries = (needs: DeliveriesNeeds): RunningDeliveries => {
  const { database, changes, clock, jobs, metrics } = needs
  const kinds = new Map<string, DeliveryKind>()
  const dispatcher = createDispatcher({ ...needs, kinds })
  const { log } = needs
  const timers: AsyncDisposable[] = []
  const days = createDays()

  /** The process that sends to the endpoint must read it anew. */
  const tellChanged = async (db: Db, { endpointId }: EndpointOf) => {
    await changes.invalidate(db, CHANGED_TOPIC, endpointId)
    afterCommit(db, () => void dispatcher.look())
  }
  const now = () => new Date(clock.now())

  const deliveries: Deliveries = {
    define(kind) {
      if (kinds.has(kind.name)) throw new Error(`${kind.name} is defined twice`)
      kinds.set(kind.name, kind)
    },
    async enqueue(db, messages) {
      if (messages.length === 0) return
      for (const message of messages) checkMessage(message)
      const stored = await encrypted(needs.atRest, messages)
      if (stored.length === 0) return
      await days.ensure(db)
      const fresh = await insertDeliveries(db, now(), stored)
      if (fresh.length > 0) afterCommit(db, () => dispatcher.fresh(fresh))
    },
    deliverOnce: (message, endpoint) => deliverTest(needs, days, message, endpoint),
    list: (db, endpoint, filter) =>
      listDeliveries(db, endpoint, filter, dispatcher.underWay(endpoint.endpointId)),
    async retry(db, endpoint, deliveryId) {
      await sendAgain(db, now(), endpoint, deliveryId)
      await unblock(db, endpoint)
      await tellChanged(db, endpoint)
      return findDelivery(db, endpoint, deliveryId)
    },
    async replay(db, endpoint, range) {
      const count = await replayRange(db, now(), endpoint, range)
      await unblock(db, endpoint)
      await tellChanged(db, endpoint)
      return count
    },
    async cancel(db, endpoint) {
      await buryAll(db, now(), endpoint, "cancelled")
      await tellChanged(db, endpoint)
    },
    health: readHealth,
    async forgive(db, endpoint) {
      await forgetFailures(db, endpoint)
      await tellChanged(db, endpoint)
    },
  }

  jobs.schedule({
    name: "deliveries.days",
    every: PRUNE_EVERY_MS,
    run: () => turnDays(database, clock.now()),
  })
  metrics.collect(() => figuresOf(dispatcher))

  return {
    deliveries,
    start() {
      timers.push(
        every(clock, TICK_EVERY_MS, dispatcher.tick),
        every(clock, BEAT_EVERY_MS, dispatcher.beat, {
          log,
          failure: "renewing the lease on delivery endpoints failed; will retry",
        }),
        every(clock, LOOK_EVERY_MS, dispatcher.look, { log, failure: LOOK_FAILED }),
      )
      void dispatcher.start()
    },
    async drain(waitMsMax) {
      await dispatcher.drain(waitMsMax)
      await stopAll(timers)
      await dispatcher.end()
    },
    async [Symbol.asyncDispose]() {
      await stopAll(timers)
      dispatcher[Symbol.dispose]()
    },
  }
}
