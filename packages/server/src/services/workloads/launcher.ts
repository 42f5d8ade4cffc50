import type { Clock } from "../../kernel/clock.ts"
import type { KeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../hosts/hosts.ts"
import type { LaunchOptions, Live, Started, Workload } from "./workload.ts"

interface LauncherNeeds<Item extends Workload> {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly clock: Clock
  readonly log: Logger
  readonly mutex: KeyedMutex
  readonly adopt: (item: Item, started: Started, expiresAtMs: number | null) => Live<Item>
  readonly forget: (id: string) => void
  readonly find: (id: string) => Live<Item> | undefined
}

/** More at once would only make each slower. */
const STARTS_MAX = 8

/** Starts workloads, and lets callers wait for those that are on their way. */
export const createLauncher = <Item extends Workload>(needs: LauncherNeeds<Item>) => {
  const { runtime, hosts, clock, mutex, adopt, forget } = needs
  const starting = new Map<string, { item: Item; promise: Promise<Live<Item> | undefined> }>()
  const starts = createSemaphore(STARTS_MAX)

  const start = async (item: Item, { room, timeoutMs }: LaunchOptions<Item>): Promise<Live<Item>> => {
    const { spec } = item
    const place = room ?? hosts.reserve({ memoryBytes: spec.memoryBytes })
    try {
      const guest = await starts.run(() => runtime.start(spec))
      return adopt(item, { guest, room: place }, timeoutMs === null ? null : clock.now() + timeoutMs)
    } catch (error) {
      place[Symbol.dispose]()
      throw error
    }
  }

  const perform = async (item: Item, options: LaunchOptions<Item>): Promise<Live<Item> | undefined> => {
    const { id } = item.spec
    const known = needs.find(id)
    if (known) return known
    try {
      const live = await start(item, options)
      await options.settle(live)
      return live
    } catch (error) {
      forget(id)
      await runtime.stop(id, 0).catch(() => undefined)
      return await giveUp(id, options, error)
    }
  }

  const giveUp = async (id: string, { fail }: LaunchOptions<Item>, error: unknown): Promise<undefined> => {
    await fail(error).catch(failed =>
      needs.log.error({ err: failed, workload: id }, "recording the failed start of a workload failed"),
    )
  }

  const launch = async (item: Item, options: LaunchOptions<Item>): Promise<Live<Item> | undefined> => {
    const { id } = item.spec
    const { prepare } = options
    if (!prepare) return await mutex.run(id, () => perform(item, options))
    try {
      const prepared = await prepare()
      return await mutex.run(id, () => perform(prepared, options))
    } catch (error) {
      options.room?.[Symbol.dispose]()
      return await mutex.run(id, () => giveUp(id, options, error))
    }
  }

  return {
    launch(item: Item, options: LaunchOptions<Item>): Promise<Live<Item> | undefined> {
      const { id } = item.spec
      const promise = launch(item, options).finally(() => {
        if (starting.get(id)?.promise === promise) starting.delete(id)
      })
      starting.set(id, { item, promise })
      return promise
    },
    waitFor: (id: string) => starting.get(id)?.promise,
    itemOf: (id: string) => starting.get(id)?.item,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...starting.values()].map(({ promise }) => promise))
    },
  }
}
