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
import { type ClaimedLane, dispatchStore, type Owed } from "./dispatch-store.ts"
import { createFlights } from "./flights.ts"
import { createLane, type Lane, refreshLane, roomOf } from "./lane.ts"
import { createLoader } from "./loader.ts"
import { createNotices } from "./notices.ts"
import { createRounds } from "./rounds.ts"
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

/** Sends what is owed: each endpoint from one process at a time, which reads it in order and writes what became of it. */
export const createDispatcher = (needs: DispatcherNeeds) => {
  const { database, changes, fanout, clock, log } = needs
  const worker = randomUUID()
  const store = dispatchStore(database.db, worker, needs.atRest)
  /** Ordered deliveries are not loaded while others of them are settled. */
  const orderMutex = createMutex()
  const lanes = new Map<string, Lane>()
  const turns = createFairScheduler<Lane>(
    ({ of }) => of.tenantId,
    ({ of }) => of.endpointId,
  )
  const flights = createFlights()
  /** Have something to send, and their share is used up. */
  const aside = new Set<Lane>()
  const idle = Promise.withResolvers<void>()
  let state: "new" | "running" | "draining" = "new"

  const mayTurn = (lane: Lane) => {
    if (!lane.isOurs || lanes.get(lane.of.endpointId) !== lane) return
    if (lane.ready.length > 0) turns.add(lane)
    else if (lane.hasMore && roomOf(lane, clock.now()) > 0) loader.want(lane)
  }

  /** There may be something due that memory does not know. */
  const stir = (lane: Lane) => {
    lane.hasMore = true
    mayTurn(lane)
  }

  const finishIfIdle = () => {
    if (state === "draining" && flights.count() === 0 && writer.size() === 0) idle.resolve()
  }

  const written = (ended: readonly CompletedDelivery[]) => {
    for (const { lane, owed } of ended) {
      lane.known.delete(owed.id)
      if (lane.isLoading) lane.stale.add(owed.id)
      if (owed.orderingKey !== null) lane.hasMore = true
      mayTurn(lane)
    }
    finishIfIdle()
    pump()
  }

  const claimed = (claims: readonly ClaimedLane[]) => {
    for (const one of claims) {
      const known = lanes.get(one.endpointId)
      if (known) refreshLane(known, one)
      const lane = known ?? createLane(one, clock.now())
      lanes.set(one.endpointId, lane)
      mayTurn(lane)
    }
    pump()
  }

  const forget = (lane: Lane) => {
    loader.drop(lane)
    turns.remove(lane)
    aside.delete(lane)
    lanes.delete(lane.of.endpointId)
  }

  const send = async (lane: Lane, owed: Owed): Promise<void> => {
    const end = flights.begin(lane)
    lane.flying.add(owed.id)
    lane.tokens--
    lane.usedMs = clock.now()
    await sender.send(lane, owed)
    end()
    lane.flying.delete(owed.id)
    for (const one of aside) turns.add(one)
    aside.clear()
    mayTurn(lane)
    finishIfIdle()
    pump()
  }

  /** Sends as long as there are places and turns. */
  const pump = () => {
    if (state !== "running" || !claims.isLive()) return
    const nowMs = clock.now()
    while (flights.hasRoom() && writer.size() < UNWRITTEN_MAX) {
      const lane = turns.next()
      if (!lane) return
      if (!lane.isOurs || lane.ready.length === 0 || roomOf(lane, nowMs) <= 0) {
        turns.remove(lane)
        if (lane.ready.length === 0) mayTurn(lane)
      } else if (flights.isOverShare(lane)) {
        turns.remove(lane)
        aside.add(lane)
      } else {
        const owed = loader.take(lane)
        if (owed) void send(lane, owed)
      }
    }
  }

  const loader = createLoader({
    ...{ store, clock, log, orderMutex },
    loaded(lane) {
      mayTurn(lane)
      pump()
    },
  })
  const writer = createWriter({ ...needs, store, orderMutex, written })
  const claims = createClaims({
    ...{ store, fanout, clock, log, claimed },
    refused: endpointIds => endpointIds.flatMap(id => lanes.get(id) ?? []).forEach(forget),
  })
  const sender = createSender({ ...needs, loader, writer, notices: createNotices(needs) })
  const rounds = createRounds({ ...needs, lanes, store, claims, writer, worker, mayTurn, forget, pump })

  /** The pending deliveries of an endpoint were changed; its cached health is outdated too. */
  const changed = (endpointId: string | undefined) => {
    const lane = endpointId === undefined ? undefined : lanes.get(endpointId)
    if (!lane) return
    loader.drop(lane)
    claims.claim(lane.of)
  }

  changes.subscribe(CHANGED_TOPIC, changed)
  fanout.subscribe(WORK_TOPIC, ids => {
    for (const id of ids ?? lanes.keys()) {
      const lane = lanes.get(id)
      if (lane) stir(lane)
    }
    pump()
  })

  return {
    ...rounds,
    /** Just committed. */
    fresh(items: readonly Fresh[]): void {
      if (state !== "running") return
      for (const { lane: of, owed } of items) {
        const lane = lanes.get(of.endpointId)
        if (!lane) claims.want(of)
        else if (loader.offer(lane, owed)) mayTurn(lane)
        else stir(lane)
      }
      pump()
    },
    /** Deliveries of an endpoint that are being attempted by this process. */
    underWay: (endpointId: string): readonly string[] => [...(lanes.get(endpointId)?.flying ?? [])],
    figures: () => ({ flying: flights.count(), lanes: lanes.size, unwritten: writer.size() }),
    /** What is due now is for others to send. */
    look: async () => {
      if (state !== "draining") await rounds.look()
    },
    async start(): Promise<void> {
      state = "running"
      await rounds.look()
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
