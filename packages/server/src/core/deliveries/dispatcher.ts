import { randomUUID } from "node:crypto"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import type { BackgroundMeters } from "../meters/meters.ts"
import { type AttemptMade, attemptDelivery } from "./attempt.ts"
import { CHANGED_TOPIC, createClaims, WORK_TOPIC } from "./claims.ts"
import type { DeliveryKind, Endpoint } from "./deliveries.ts"
import { createGate } from "./gate.ts"
import { conclude, createLane, isCutOff, type Lane, refreshLane, roomOf, takeSettings } from "./lane.ts"
import { createLoader } from "./loader.ts"
import { createNotices } from "./notices.ts"
import { type ClaimedLane, dispatchStore, type Fresh, type Owed, type Settlement } from "./store.ts"
import { createTurns } from "./turns.ts"
import { createWriter } from "./writer.ts"

/** Attempts under way in this process. */
const FLYING_MAX = 512
/** Of them to one tenant's endpoints, and to endpoints whose last attempt did not succeed. */
const SHARE_MAX = FLYING_MAX / 2
/** Outcomes that wait to be written; a kill repeats them. */
const UNWRITTEN_MAX = 512
const IDLE_MS_MAX = 300_000

export interface DispatcherNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly outbound: Outbound
  readonly meters: BackgroundMeters
  readonly delayFactor: number
  readonly kinds: ReadonlyMap<string, DeliveryKind>
}

/** Sends what is owed: each endpoint from one process at a time, which reads it in order and writes what became of it. */
export const createDispatcher = (needs: DispatcherNeeds) => {
  const { database, changes, clock, log, outbound, meters, kinds, delayFactor } = needs
  const worker = randomUUID()
  const store = dispatchStore(database.db, worker)
  const gate = createGate()
  const lanes = new Map<string, Lane>()
  const turns = createTurns()
  /** Have something to send, and their share is used up. */
  const aside = new Set<Lane>()
  const flyingByTenant = new Map<string, number>()
  const stopping = new AbortController()
  const idle = Promise.withResolvers<void>()
  let flying = 0
  let unproven = 0
  let isRunning = false
  let isDraining = false

  const mayTurn = (lane: Lane) => {
    if (lanes.get(lane.of.endpointId) !== lane) return
    if (lane.ready.length > 0) turns.add(lane)
    else if (lane.hasMore && roomOf(lane, clock.now()) > 0) loader.want(lane)
  }

  const loader = createLoader({
    ...{ store, clock, log, gate },
    loaded(lane) {
      mayTurn(lane)
      pump()
    },
  })

  const writer = createWriter({
    ...{ store, clock, log, meters, gate },
    written(ended) {
      for (const { lane, owed } of ended) {
        lane.known.delete(owed.id)
        if (lane.isLoading) lane.stale.add(owed.id)
        if (owed.orderingKey !== null) lane.hasMore = true
        mayTurn(lane)
      }
      if (isDraining && flying === 0 && writer.size() === 0) idle.resolve()
      pump()
    },
  })

  const notices = createNotices({ database, changes, clock, log, kinds })

  const claims = createClaims({
    ...{ db: database.db, store, changes, clock, log },
    claimed(claimed: readonly ClaimedLane[]) {
      for (const one of claimed) {
        const known = lanes.get(one.endpointId)
        if (known) refreshLane(known, one)
        const lane = known ?? createLane(one, clock.now())
        lanes.set(one.endpointId, lane)
        mayTurn(lane)
      }
      pump()
    },
    refused(endpointIds) {
      for (const id of endpointIds) {
        const lane = lanes.get(id)
        if (lane) forget(lane)
      }
    },
  })

  const forget = (lane: Lane) => {
    loader.drop(lane)
    turns.remove(lane)
    aside.delete(lane)
    lanes.delete(lane.of.endpointId)
  }

  /** Without an attempt: its endpoint or its message is gone. */
  const giveUp = ({ id, attemptCount }: Owed, status: Settlement["status"]): Settlement => ({
    ...{ id, attemptCount, status, dueAt: null, attempt: null },
  })

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
    const then = notices.after(lane, owed, settlement.status, disable)
    writer.add({ lane, owed, settlement: { ...settlement, attempt }, then })
  }

  const attempt = async (lane: Lane, owed: Owed): Promise<void> => {
    const { message } = owed
    const endpoints = await kinds.get(lane.of.kind)?.resolve([owed.endpointId])
    const endpoint = endpoints?.get(owed.endpointId)
    if (!endpoint || !message) {
      const settlement = giveUp(owed, endpoint ? "dead_lettered" : "cancelled")
      return writer.add({ lane, owed, settlement, then: undefined })
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

  const send = async (lane: Lane, owed: Owed): Promise<void> => {
    const { tenantId } = lane.of
    const isUnproven = !lane.isProven
    flying++
    if (isUnproven) unproven++
    flyingByTenant.set(tenantId, (flyingByTenant.get(tenantId) ?? 0) + 1)
    lane.flying.add(owed.id)
    lane.tokens--
    lane.usedMs = clock.now()
    try {
      await attempt(lane, owed)
    } catch (error) {
      // Not the endpoint's doing: it stays owed, and the next look finds it.
      lane.known.delete(owed.id)
      lane.nextDueMs = Math.min(lane.nextDueMs, clock.now() + 1_000)
      log.error({ err: error, delivery: owed.id }, "a delivery could not be attempted")
    } finally {
      flying--
      if (isUnproven) unproven--
      const left = (flyingByTenant.get(tenantId) ?? 1) - 1
      if (left === 0) flyingByTenant.delete(tenantId)
      else flyingByTenant.set(tenantId, left)
      lane.flying.delete(owed.id)
      for (const one of aside) turns.add(one)
      aside.clear()
      mayTurn(lane)
      if (isDraining && flying === 0 && writer.size() === 0) idle.resolve()
      pump()
    }
  }

  const isOverShare = (lane: Lane): boolean =>
    (!lane.isProven && unproven >= SHARE_MAX) || (flyingByTenant.get(lane.of.tenantId) ?? 0) >= SHARE_MAX

  const pump = () => {
    if (!isRunning || isDraining || !claims.isLive()) return
    const nowMs = clock.now()
    while (flying < FLYING_MAX && writer.size() < UNWRITTEN_MAX) {
      const lane = turns.next()
      if (!lane) return
      if (lane.ready.length === 0 || roomOf(lane, nowMs) <= 0) {
        turns.remove(lane)
        if (lane.ready.length === 0) mayTurn(lane)
      } else if (isOverShare(lane)) {
        turns.remove(lane)
        aside.add(lane)
      } else {
        const owed = loader.take(lane)
        if (owed) void send(lane, owed)
      }
    }
  }

  /** There may be something due that memory does not know. */
  const stir = (lane: Lane) => {
    lane.hasMore = true
    mayTurn(lane)
  }

  const tick = () => {
    const nowMs = clock.now()
    const released: Lane[] = []
    for (const lane of lanes.values()) {
      if (lane.nextDueMs <= nowMs) {
        lane.nextDueMs = Number.POSITIVE_INFINITY
        lane.hasMore = true
      }
      if (lane.ready.length > 0 || lane.hasMore) mayTurn(lane)
      else if (lane.known.size === 0 && nowMs - lane.usedMs > IDLE_MS_MAX) released.push(lane)
    }
    pump()
    if (writer.size() > 0) void writer.flush()
    if (released.length === 0) return
    for (const lane of released) forget(lane)
    void store.release(released.map(({ of }) => of.endpointId)).catch(() => undefined)
  }

  const beat = async () => {
    if (lanes.size === 0) return
    try {
      if (await claims.beat()) return
      log.warn({ lanes: lanes.size }, "the lease on endpoints ran out")
    } catch (error) {
      log.warn({ error: String(error) }, "the lease on endpoints could not be extended")
      return
    }
    for (const lane of lanes.values()) claims.claim(lane.of)
  }

  const look = async () => {
    try {
      for (const { workerId, ...lane } of await store.look(new Date(clock.now()))) {
        if (!kinds.has(lane.kind)) continue
        const ours = lanes.get(lane.endpointId)
        if (ours) {
          if (ours.known.size === 0) stir(ours)
        } else if (workerId === null || workerId === worker) {
          claims.claim(lane)
        }
      }
      pump()
    } catch (error) {
      log.warn({ error: String(error) }, "a look after deliveries is put off")
    }
  }

  const changed = (endpointId: string | undefined) => {
    const lane = endpointId === undefined ? undefined : lanes.get(endpointId)
    if (!lane) return
    // What is known of its health is old, too.
    loader.drop(lane)
    claims.claim(lane.of)
  }

  changes.subscribe(CHANGED_TOPIC, changed)
  changes.subscribe(WORK_TOPIC, ids => {
    for (const id of ids?.split(",") ?? lanes.keys()) {
      const lane = lanes.get(id)
      if (lane) stir(lane)
    }
    pump()
  })

  return {
    /** Just committed. */
    fresh(items: readonly Fresh[]): void {
      if (!isRunning || isDraining) return
      for (const { lane: of, owed } of items) {
        const lane = lanes.get(of.endpointId)
        if (!lane) claims.want(of)
        else if (loader.offer(lane, owed)) mayTurn(lane)
        else stir(lane)
      }
      pump()
    },
    changed,
    tick,
    beat,
    look,
    underWay: (endpointId: string): readonly string[] => [...(lanes.get(endpointId)?.flying ?? [])],
    figures: () => ({ flying, lanes: lanes.size, unwritten: writer.size() }),
    async start(): Promise<void> {
      isRunning = true
      await look()
    },
    /** Sends nothing more, waits this long at most for what is under way, and gives its endpoints to other processes. */
    async drain(waitMsMax: number): Promise<void> {
      isDraining = true
      if (flying === 0 && writer.size() === 0) idle.resolve()
      const timeout = setTimeout(idle.resolve, waitMsMax)
      await idle.promise
      clearTimeout(timeout)
      stopping.abort(new Error("the platform stops"))
      await writer.flush()
      await store.end().catch(() => undefined)
    },
    [Symbol.dispose]() {
      claims[Symbol.dispose]()
    },
  }
}

export type Dispatcher = ReturnType<typeof createDispatcher>
