import { randomUUID } from "node:crypto"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Clock } from "../../kernel/clock.ts"
import { createFairScheduler } from "../../kernel/concurrency/fair-scheduler.ts"
import { createMutex } from "../../kernel/concurrency/semaphore.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Fanout } from "../../kernel/fanout.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { CHANGED_TOPIC, createClaims, WORK_TOPIC } from "./claims.ts"
import type { DeliveryKind } from "./deliveries.ts"
import { type ClaimedQueue, dispatchStore, type PendingDelivery } from "./dispatch-store.ts"
import { createEndpointQueue, type EndpointQueue, refreshEndpointQueue, roomOf } from "./endpoint-queue.ts"
import { createFlights } from "./flights.ts"
import { createLoader } from "./loader.ts"
import { createNotices } from "./notices.ts"
import { createRounds, LOOK_FAILED } from "./rounds.ts"
import { createSender } from "./sender.ts"
import type { Fresh } from "./store.ts"
import { type CompletedDelivery, createWriter } from "./writer.ts"

/** Outcomes that wait to be written; a kill repeats them. */
const UNWRITTEN_MAX = 512

export interface DispatcherNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly fanout: Fanout
  readonly clock: Clock
  readonly log: Logger
  readonly outbound: Outbound
  readonly meters: BackgroundMeters
  readonly delayFactor: number
  readonly atRest: AtRest
  readonly kinds: ReadonlyMap<string, DeliveryKind>
}

/** Sends what is pending: each endpoint from one process at a time, which reads it in order and writes what became of it. */
export const createDispatcher = (needs: DispatcherNeeds) => {
  const { database, changes, fanout, clock, log } = needs
  const worker = randomUUID()
  const store = dispatchStore(database.db, worker, needs.atRest)
  /** Ordered deliveries are not loaded while others of them are settled. */
  const orderMutex = createMutex()
  const queues = new Map<string, EndpointQueue>()
  const turns = createFairScheduler<EndpointQueue>(
    ({ of }) => of.tenantId,
    ({ of }) => of.endpointId,
  )
  const flights = createFlights()
  /** Have something to send, and their share is used up. */
  const aside = new Set<EndpointQueue>()
  const idle = Promise.withResolvers<void>()
  let state: "new" | "running" | "draining" = "new"

  const mayTurn = (queue: EndpointQueue) => {
    if (!queue.isOurs || queues.get(queue.of.endpointId) !== queue) return
    if (queue.ready.length > 0) turns.add(queue)
    else if (queue.hasMore && roomOf(queue, clock.now()) > 0) loader.want(queue)
  }

  /** There may be something due that memory does not know. */
  const stir = (queue: EndpointQueue) => {
    queue.hasMore = true
    mayTurn(queue)
  }

  const finishIfIdle = () => {
    if (state === "draining" && flights.count() === 0 && writer.size() === 0) idle.resolve()
  }

  const written = (ended: readonly CompletedDelivery[]) => {
    for (const { queue, delivery } of ended) {
      queue.known.delete(delivery.id)
      if (queue.isLoading) queue.stale.add(delivery.id)
      if (delivery.orderingKey !== null) queue.hasMore = true
      mayTurn(queue)
    }
    finishIfIdle()
    pump()
  }

  const claimed = (claims: readonly ClaimedQueue[]) => {
    for (const one of claims) {
      const known = queues.get(one.endpointId)
      if (known) refreshEndpointQueue(known, one)
      const queue = known ?? createEndpointQueue(one, clock.now())
      queues.set(one.endpointId, queue)
      mayTurn(queue)
    }
    pump()
  }

  const forget = (queue: EndpointQueue) => {
    loader.drop(queue)
    turns.remove(queue)
    aside.delete(queue)
    queues.delete(queue.of.endpointId)
  }

  const send = async (queue: EndpointQueue, delivery: PendingDelivery): Promise<void> => {
    const end = flights.begin(queue)
    queue.flying.add(delivery.id)
    queue.tokens--
    queue.usedMs = clock.now()
    await sender.send(queue, delivery)
    end()
    queue.flying.delete(delivery.id)
    for (const one of aside) turns.add(one)
    aside.clear()
    mayTurn(queue)
    finishIfIdle()
    pump()
  }

  /** Sends as long as there are places and turns. */
  const pump = () => {
    if (state !== "running" || !claims.isLive()) return
    const nowMs = clock.now()
    while (flights.hasRoom() && writer.size() < UNWRITTEN_MAX) {
      const queue = turns.next()
      if (!queue) return
      if (!queue.isOurs || queue.ready.length === 0 || roomOf(queue, nowMs) <= 0) {
        turns.remove(queue)
        if (queue.ready.length === 0) mayTurn(queue)
      } else if (flights.isOverShare(queue)) {
        turns.remove(queue)
        aside.add(queue)
      } else {
        const delivery = loader.take(queue)
        if (delivery) void send(queue, delivery)
      }
    }
  }

  const loader = createLoader({
    ...{ store, clock, log, orderMutex },
    loaded(queue) {
      mayTurn(queue)
      pump()
    },
  })
  const writer = createWriter({ ...needs, store, orderMutex, written })
  const claims = createClaims({
    ...{ store, fanout, clock, log, claimed },
    refused: endpointIds => endpointIds.flatMap(id => queues.get(id) ?? []).forEach(forget),
  })
  const sender = createSender({ ...needs, loader, writer, notices: createNotices(needs) })
  const rounds = createRounds({ ...needs, queues, store, claims, writer, worker, mayTurn, forget, pump })

  /** The pending deliveries of an endpoint were changed; its cached health is outdated too. */
  const changed = (endpointId: string | undefined) => {
    const queue = endpointId === undefined ? undefined : queues.get(endpointId)
    if (!queue) return
    loader.drop(queue)
    claims.claim(queue.of)
  }

  changes.subscribe(CHANGED_TOPIC, changed)
  fanout.subscribe(WORK_TOPIC, ids => {
    for (const id of ids ?? queues.keys()) {
      const queue = queues.get(id)
      if (queue) stir(queue)
    }
    pump()
  })

  return {
    ...rounds,
    /** Just committed. */
    fresh(items: readonly Fresh[]): void {
      if (state !== "running") return
      for (const { queue: of, delivery } of items) {
        const queue = queues.get(of.endpointId)
        if (!queue) claims.want(of)
        else if (loader.offer(queue, delivery)) mayTurn(queue)
        else stir(queue)
      }
      pump()
    },
    /** Deliveries of an endpoint that are being attempted by this process. */
    underWay: (endpointId: string): readonly string[] => [...(queues.get(endpointId)?.flying ?? [])],
    figures: () => ({ flying: flights.count(), queues: queues.size, unwritten: writer.size() }),
    /** What is due now is for others to send. */
    look: async () => {
      if (state !== "draining") await rounds.look()
    },
    async start(): Promise<void> {
      state = "running"
      await rounds.look().catch(error => log.warn({ err: error }, LOOK_FAILED))
    },
    /** Sends nothing more, and waits this long at most for what is under way. */
    async drain(waitMsMax: number): Promise<void> {
      state = "draining"
      finishIfIdle()
      const timeout = setTimeout(idle.resolve, waitMsMax)
      await idle.promise
      clearTimeout(timeout)
      sender.stop()
      await writer.flush()
    },
    /** Gives its endpoints to other processes; nothing of it may beat any more. */
    end: (): Promise<void> =>
      store
        .end()
        .catch(error =>
          log.warn(
            { error: String(error) },
            "releasing delivery endpoints at shutdown failed; their lease must expire first",
          ),
        ),
    [Symbol.dispose]() {
      claims[Symbol.dispose]()
    },
  }
}

export type Dispatcher = ReturnType<typeof createDispatcher>
