import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Clock } from "../../kernel/clock.ts"
import { createKeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import { every, stopAll } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../hosts/hosts.ts"
import { createLauncher } from "./launcher.ts"
import { meterTime } from "./usage.ts"
import type { EndReason, LaunchOptions, Live, Started, Workload } from "./workload.ts"

/**
 * The workloads of an area that run in this process: who they are, who uses them, and when they end. Memory has what is
 * true now; the area's rows have what should be.
 */
export interface Fleet<Item extends Workload> extends AsyncDisposable {
  /** One that runs; waits for one that is starting. Undefined when neither is so, or it does not start. */
  ready(id: string): Live<Item> | undefined | Promise<Live<Item> | undefined>
  /** One that runs now. */
  find(id: string): Live<Item> | undefined
  /** The item of one that runs or is starting. */
  itemOf(id: string): Item | undefined
  isEnding(id: string): boolean
  ids(): readonly string[]
  /** Runs `work` while nothing else is done to this workload. */
  withLock<Result>(id: string, work: () => Promise<Result>): Promise<Result>
  /**
   * Starts it under its lock, then `settle` puts that on record under the same lock. Calls that use it wait until then.
   * Resolves to undefined, after `fail`, when it does not start.
   */
  launch(item: Item, options: LaunchOptions<Item>): Promise<Live<Item> | undefined>
  /** Takes over one that runs. */
  adopt(item: Item, started: Started, expiresAtMs: number | null): Live<Item>
  /** Keeps it from being idle until disposed of. */
  hold(live: Live<Item>): Disposable
  /** Under the lock: ends it, without telling `onEnd`. */
  stop(id: string): Promise<void>
  /** Under the lock: ends it and removes its disk, without telling `onEnd`. */
  destroy(id: string): Promise<void>
}

export interface FleetNeeds<Item extends Workload> {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly clock: Clock
  readonly log: Logger
  readonly meters: BackgroundMeters
  /** Under the lock, when it has ended without being asked to; its processes are gone. Repeated until it succeeds. */
  readonly onEnd: (live: Live<Item>, reason: EndReason) => Promise<void>
}

/** Deadlines are kept to this. */
const LOOK_EVERY_MS = 250
const METER_EVERY_MS = 60_000
/** How long programs have to end by themselves. */
const STOP_GRACE_MS = 2_000

/** What keeps nothing has nothing to finish. */
const graceOf = ({ spec }: Workload): number => (spec.disk.kind === "persistent" ? STOP_GRACE_MS : 0)

const dueOf = <Item extends Workload>(live: Live<Item>, nowMs: number): EndReason | undefined => {
  if (live.expiresAtMs !== null && nowMs >= live.expiresAtMs) return "deadline"
  const { idleMs } = live.item
  const isIdle = idleMs > 0 && live.holds === 0 && nowMs - live.lastUsedMs >= idleMs
  return isIdle ? "idle" : undefined
}

export const createFleet = <Item extends Workload>(needs: FleetNeeds<Item>): Fleet<Item> => {
  const { runtime, hosts, clock, log, meters } = needs
  const running = new Map<string, { readonly live: Live<Item>; readonly room: Disposable }>()
  const ending = new Map<string, { readonly live: Live<Item>; readonly reason: EndReason }>()
  const mutex = createKeyedMutex()
  let closing = false

  const meter = (live: Live<Item>) => {
    const nowMs = clock.now()
    meterTime(meters, live.item, live.meteredMs, nowMs)
    live.meteredMs = nowMs
  }

  const forget = (id: string) => {
    const known = running.get(id)
    if (!known) return
    running.delete(id)
    meter(known.live)
    known.room[Symbol.dispose]()
  }

  /** Its processes go first, so that what the row says of its end is true. */
  const end = (live: Live<Item>, reason: EndReason): Promise<void> => {
    const { id } = live.item.spec
    ending.set(id, { live, reason })
    return mutex
      .run(id, async () => {
        if (ending.get(id)?.live !== live) return
        await runtime.stop(id, graceOf(live.item))
        forget(id)
        await needs.onEnd(live, reason)
        ending.delete(id)
      })
      .catch(error =>
        log.error(
          { err: error, workload: id },
          "stopping a workload or recording its end failed; will retry",
        ),
      )
  }

  const adopt = (item: Item, { guest, room }: Started, expiresAtMs: number | null): Live<Item> => {
    const nowMs = clock.now()
    const live: Live<Item> = {
      ...{ item, guest, startedMs: nowMs, expiresAtMs, lastUsedMs: nowMs, holds: 0, meteredMs: nowMs },
      reading: { cpuMs: 0, atMs: nowMs },
    }
    running.set(item.spec.id, { live, room })
    void guest.ended.then(how => {
      if (closing || running.get(item.spec.id)?.live !== live || ending.has(item.spec.id)) return
      return end(live, how === "out_of_memory" ? "out_of_memory" : "died")
    })
    return live
  }
  const launcher = createLauncher({
    runtime,
    hosts,
    clock,
    log,
    mutex,
    adopt,
    forget,
    find: id => running.get(id)?.live,
  })

  const look = async () => {
    const nowMs = clock.now()
    const due = [...running.values()].flatMap(({ live }) => {
      const reason = ending.has(live.item.spec.id) ? undefined : dueOf(live, nowMs)
      return reason ? [end(live, reason)] : []
    })
    await Promise.all(due)
  }
  const retry = () =>
    Promise.all([...ending.values()].map(({ live, reason }) => end(live, reason))).then(() => undefined)
  const timers = [
    every(clock, LOOK_EVERY_MS, look),
    every(clock, 20 * LOOK_EVERY_MS, retry),
    every(clock, METER_EVERY_MS, () => {
      for (const { live } of running.values()) meter(live)
    }),
  ]

  return {
    find: id => (ending.has(id) ? undefined : running.get(id)?.live),
    // One that runs and is not on record yet is still starting.
    ready: id => (ending.has(id) ? undefined : (launcher.waitFor(id) ?? running.get(id)?.live)),
    itemOf: id => running.get(id)?.live.item ?? launcher.itemOf(id),
    isEnding: id => ending.has(id),
    ids: () => [...running.keys()],
    withLock: mutex.run,
    launch: launcher.launch,
    adopt,
    hold(live) {
      live.holds += 1
      return {
        [Symbol.dispose]() {
          live.holds -= 1
          live.lastUsedMs = clock.now()
        },
      }
    },
    async stop(id) {
      ending.delete(id)
      const item = running.get(id)?.live.item
      // Removed from the registry first, so that no call starts to use what is about to end.
      forget(id)
      await runtime.stop(id, item ? graceOf(item) : 0)
    },
    async destroy(id) {
      ending.delete(id)
      forget(id)
      await runtime.destroy(id)
    },
    async [Symbol.asyncDispose]() {
      closing = true
      await stopAll(timers)
      await launcher[Symbol.asyncDispose]()
      const stops = [...running].map(([id, { live }]) => runtime.stop(id, graceOf(live.item)))
      await Promise.allSettled(stops)
      for (const id of [...running.keys()]) forget(id)
    },
  }
}
