import type { Clock } from "../../kernel/clock.ts"
import type { Mutex } from "../../kernel/concurrency/semaphore.ts"
import type { Logger } from "../../kernel/log.ts"
import type { DispatchStore, Owed } from "./dispatch-store.ts"
import { isCutOff, type Lane, readyMaxOf } from "./lane.ts"

/** Deliveries of one endpoint that are read at once, and about how many bytes. */
const LOADED_MAX = 200
const LOADED_BYTES_MAX = 1_048_576
const LANES_AT_ONCE = 32
/** Data that waits in memory, over all endpoints. */
const READY_BYTES_MAX = 64 * 1_048_576

interface LoaderNeeds {
  readonly store: DispatchStore
  readonly clock: Clock
  readonly log: Logger
  readonly orderMutex: Mutex
  readonly loaded: (lane: Lane) => void
}

/** Reads what is due from the database into lanes that have nothing left in memory. */
export const createLoader = ({ store, clock, log, orderMutex, loaded }: LoaderNeeds) => {
  const wanted = new Set<Lane>()
  let isLoading = false
  let readyBytes = 0

  const put = (lane: Lane, owed: Owed) => {
    lane.ready.push(owed)
    lane.known.add(owed.id)
    readyBytes += owed.bytes
  }

  const load = async (lanes: readonly Lane[]) => {
    for (const lane of lanes) {
      lane.hasMore = false
      lane.isLoading = true
    }
    const ids = lanes.map(({ of }) => of.endpointId)
    // What is known already is due as well, until it is written.
    const limit = LOADED_MAX + Math.max(...lanes.map(({ known }) => known.size))
    try {
      const owed = await orderMutex.run(() => store.load(new Date(clock.now()), ids, limit, LOADED_BYTES_MAX))
      const byLane = Map.groupBy(owed, ({ endpointId }) => endpointId)
      for (const lane of lanes) {
        const found = byLane.get(lane.of.endpointId) ?? []
        const bytes = found.reduce((sum, { bytes }) => sum + bytes, 0)
        if (found.length >= limit || bytes > LOADED_BYTES_MAX) lane.hasMore = true
        const fresh = found.filter(({ id }) => !lane.known.has(id) && !lane.stale.has(id))
        const readyMax = readyMaxOf(lane)
        if (fresh.length > readyMax) lane.hasMore = true
        for (const one of fresh.slice(0, readyMax)) put(lane, one)
      }
    } catch (error) {
      for (const lane of lanes) lane.hasMore = true
      throw error
    } finally {
      for (const lane of lanes) {
        lane.isLoading = false
        lane.stale.clear()
      }
    }
    for (const lane of lanes) loaded(lane)
  }

  const run = async () => {
    if (isLoading) return
    isLoading = true
    try {
      while (wanted.size > 0 && readyBytes < READY_BYTES_MAX) {
        const lanes = [...wanted].slice(0, LANES_AT_ONCE)
        for (const lane of lanes) wanted.delete(lane)
        await load(lanes)
      }
    } catch (error) {
      wanted.clear()
      log.warn({ error: String(error) }, "loading due deliveries failed; will retry")
    } finally {
      isLoading = false
    }
  }

  return {
    want(lane: Lane): void {
      if (lane.isLoading) return
      wanted.add(lane)
      void run()
    },
    /** Takes what was just committed, without reading it back, where nothing older waits. */
    offer(lane: Lane, owed: Owed): boolean {
      if (lane.known.has(owed.id)) return true
      const isNext = !lane.hasMore && !isCutOff(lane) && owed.orderingKey === null
      if (!isNext || lane.ready.length >= LOADED_MAX || readyBytes >= READY_BYTES_MAX) return false
      put(lane, owed)
      return true
    },
    take(lane: Lane): Owed | undefined {
      const owed = lane.ready.shift()
      if (owed) readyBytes -= owed.bytes
      if (wanted.size > 0) void run()
      return owed
    },
    /** Forgets what was read and not sent. */
    drop(lane: Lane): void {
      wanted.delete(lane)
      for (const { id, bytes } of lane.ready.splice(0)) {
        lane.known.delete(id)
        readyBytes -= bytes
      }
    },
  }
}

export type Loader = ReturnType<typeof createLoader>
