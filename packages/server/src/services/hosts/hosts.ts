import { hostname } from "node:os"
import type { FaultCode } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import { type Elsewhere, Fault, fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { hostIdOf } from "./identity.ts"
import { createPeers, type Place } from "./peers.ts"
import { hostStore } from "./store.ts"

/** What all workloads of this host may be promised together. */
export interface Capacity {
  readonly memoryBytes: number
  readonly workloadsMax: number
}

export interface HostUse {
  readonly memoryReservedBytes: number
  readonly workloads: number
}

export interface Room {
  readonly memoryBytes: number
  /** For what is given up when there is no room: it takes none from others like it. */
  readonly spare?: true
}

/**
 * The machines that run workloads, of which this process is one, and what room is left here. A workload is placed on the
 * host that takes the request, or where that cannot, on the one with the most room that can.
 */
export interface Hosts {
  readonly id: string
  readonly capacity: Capacity
  use(): HostUse
  /** Room for one workload, and for what the driver takes beside it, until it is disposed of. Throws `no_host_capacity`. */
  reserve(need: Room): Disposable
  /** Called to release unused capacity when there is no other; returns whether any was released. */
  onPressure(giveUp: () => boolean): void
  /** Names, when all areas have started, the workloads whose disks must stay. All others of before are removed. */
  keep(ids: () => Promise<readonly string[]>): void
  /** Other hosts that have not been heard of for half a minute: what ran there has ended, or counts as ended. */
  gone(): Promise<readonly string[]>
  /** Acts when others had taken this host for gone. */
  onLapse(act: () => Promise<void>): void
  /** Where another host is reached; undefined where there is none that could be. */
  at(id: string): Elsewhere | undefined
  /** Does what may be refused for want of something here; the refusal then says which hosts may have it. */
  orElsewhere<Result>(place: Place, work: () => Promise<Result>): Promise<Result>
}

const GONE_MS = 30_000
const HEARTBEAT_EVERY_MS = 5_000

export interface HostNeeds {
  readonly runtime: RuntimePort
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly dataDir: string
  readonly capacity: Capacity
  /** Where other processes of the platform reach this one; undefined: they do not. */
  readonly url: string | undefined
}

/** `overheadBytes`: what each workload takes beside the memory that it is promised. */
export const createRoom = (capacity: Capacity, overheadBytes: number) => {
  const yielding: (() => boolean)[] = []
  let memoryReservedBytes = 0
  let workloads = 0

  const fits = (memoryBytes: number) =>
    workloads < capacity.workloadsMax && memoryReservedBytes + memoryBytes <= capacity.memoryBytes

  return {
    use: (): HostUse => ({ memoryReservedBytes, workloads }),
    onPressure: (giveUp: () => boolean) => void yielding.push(giveUp),
    reserve({ memoryBytes: promisedBytes, spare }: Room): Disposable {
      const memoryBytes = promisedBytes + overheadBytes
      while (!fits(memoryBytes)) {
        if (spare || !yielding.some(giveUp => giveUp())) throw fault("no_host_capacity")
      }
      memoryReservedBytes += memoryBytes
      workloads += 1
      let held = true
      return {
        [Symbol.dispose]() {
          if (!held) return
          held = false
          memoryReservedBytes -= memoryBytes
          workloads -= 1
        },
      }
    },
  }
}

/** What a former life of this host left, to be removed once the areas have said what must stay. */
const createLeftovers = async ({ runtime, log }: Pick<HostNeeds, "runtime" | "log">) => {
  const found = await runtime.list().catch(error => {
    log.error({ err: error }, "listing orphaned workloads on this host failed")
    return []
  })
  const keepers: (() => Promise<readonly string[]>)[] = []

  return {
    keep: (ids: () => Promise<readonly string[]>) => void keepers.push(ids),
    async remove() {
      if (found.length === 0) return
      const kept = new Set((await Promise.all(keepers.map(ids => ids()))).flat())
      for (const id of found.filter(id => !kept.has(id))) {
        await runtime
          .destroy(id)
          .catch(error => log.error({ err: error, workload: id }, "removing an orphaned workload failed"))
      }
    },
  }
}

const OF_ONE_HOST: ReadonlySet<FaultCode> = new Set([
  "no_host_capacity",
  "isolation_tier_unavailable",
  "not_implemented",
])

/** True if another host could run it. */
const isOfThisHost = (error: unknown, { capabilities }: RuntimePort): error is Fault =>
  error instanceof Fault &&
  (OF_ONE_HOST.has(error.code) || (error.code === "service_unavailable" && capabilities.driver === "none"))

const sayElsewhere = ({ code, details }: Fault, elsewhere: Elsewhere | undefined): Fault =>
  new Fault(code, elsewhere ? { ...details, elsewhere } : details)

export const createHosts = async (needs: HostNeeds) => {
  const { runtime, database, clock, log, capacity } = needs
  const id = hostIdOf(needs.dataDir)
  const store = hostStore(database.db)
  const room = createRoom(capacity, runtime.capabilities.overheadBytes)
  const leftovers = await createLeftovers(needs)
  const lapses: (() => Promise<void>)[] = []

  const columns = () => {
    const { memoryReservedBytes, workloads } = room.use()
    return { memory_reserved_bytes: memoryReservedBytes, workloads, seen_at: new Date(clock.now()) }
  }
  await store.put({
    ...{ id, name: hostname(), started_at: new Date(clock.now()), ...columns() },
    ...{ driver: runtime.capabilities.driver, isolation: runtime.capabilities.isolation },
    ...{ memory_bytes: capacity.memoryBytes, workloads_max: capacity.workloadsMax },
    lost_at: null,
    url: needs.url ?? null,
  })
  const peers = createPeers(store, id)
  await peers.refresh()

  const beat = async () => {
    const nowMs = clock.now()
    const wasLost = await store.see(id, columns())
    await store.lose(id, new Date(nowMs - GONE_MS), new Date(nowMs))
    await peers.refresh()
    if (wasLost) for (const act of lapses) await act()
  }
  const beating = every(clock, HEARTBEAT_EVERY_MS, beat, {
    log,
    failure: "host heartbeat failed; will retry",
  })

  const hosts: Hosts = {
    ...{ id, capacity, use: room.use, reserve: room.reserve, onPressure: room.onPressure },
    keep: leftovers.keep,
    gone: () => store.gone(id),
    onLapse: act => void lapses.push(act),
    at: peers.at,
    orElsewhere: (place, work) =>
      work().catch(error => {
        throw isOfThisHost(error, runtime) ? sayElsewhere(error, peers.withRoom(place)) : error
      }),
  }
  return {
    hosts,
    /** Removes what is left of before. Call it when all areas with work have started. */
    removeLeftovers: () =>
      leftovers.remove().catch(error => log.error({ err: error }, "removing orphaned workloads failed")),
    [Symbol.asyncDispose]: () => beating[Symbol.asyncDispose](),
  }
}
