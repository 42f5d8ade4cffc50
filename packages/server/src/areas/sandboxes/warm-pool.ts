/** Workloads that were started before anybody asked for them: as many as were asked for lately, none when nobody does. */

import type { Clock } from "../../kernel/clock.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { SpecOfMany } from "./rules.ts"
import { type Member, remove, type Shelf, wanted } from "./shelf.ts"

export interface WarmPool extends AsyncDisposable {
  /** One that runs, if there is one of this shape; notes in any case that one was wanted. */
  take(spec: SpecOfMany): Member | undefined
  /** Removes one that was taken and came to no use. */
  drop(member: Member): Promise<void>
  size(): number
}

export interface WarmPoolNeeds {
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly clock: Clock
  readonly log: Logger
  /** Of all shapes together; 0: no pool. */
  readonly membersMax: number
}

const LOOK_EVERY_MS = 1_000
const STARTS_AT_ONCE = 2

const spareRoom = (hosts: Hosts, { spec }: Shelf): Disposable | undefined => {
  try {
    return hosts.reserve({ memoryBytes: spec.memoryBytes, spare: true })
  } catch {
    return undefined
  }
}

export const createWarmPool = ({ runtime, hosts, clock, log, membersMax }: WarmPoolNeeds): WarmPool => {
  const shelves = new Map<string, Shelf>()
  const work = new Set<Promise<void>>()
  let closing = false

  const sum = (count: (shelf: Shelf) => number) =>
    [...shelves.values()].reduce((total, shelf) => total + count(shelf), 0)
  const all = () => sum(({ members, starting }) => members.length + starting.size)

  const track = (promise: Promise<void>) => {
    const tracked = promise.finally(() => work.delete(tracked))
    work.add(tracked)
  }

  const drop = async ({ id, room }: Member): Promise<void> => {
    room[Symbol.dispose]()
    await runtime
      .destroy(id)
      .catch(error => log.warn({ err: error, workload: id }, "removing an unused warm-pool sandbox failed"))
  }

  const startOne = async (shelf: Shelf, room: Disposable): Promise<void> => {
    const id = newId()
    shelf.starting.add(room)
    try {
      const guest = await runtime.start({ ...shelf.spec, id })
      const member = { id, guest, room }
      if (closing || !shelf.starting.has(room)) return await drop(member)
      shelf.members.push(member)
      void guest.ended.then(() => {
        if (remove(shelf, member)) track(drop(member))
      })
    } catch (error) {
      room[Symbol.dispose]()
      log.debug({ err: error }, "starting a warm-pool sandbox failed")
    } finally {
      shelf.starting.delete(room)
    }
  }

  const fill = (shelf: Shelf) => {
    const missing = () => wanted(shelf, clock.now()) - shelf.members.length - shelf.starting.size
    while (!closing && missing() > 0 && shelf.starting.size < STARTS_AT_ONCE && all() < membersMax) {
      const room = spareRoom(hosts, shelf)
      if (!room) return
      track(
        startOne(shelf, room).then(() => {
          if (shelf.members.length > 0) fill(shelf)
        }),
      )
    }
  }

  const look = () => {
    for (const [key, shelf] of shelves) {
      const surplus = shelf.members.length - wanted(shelf, clock.now())
      for (const member of shelf.members.splice(0, Math.max(0, surplus))) track(drop(member))
      if (wanted(shelf, clock.now()) === 0 && shelf.members.length + shelf.starting.size === 0)
        shelves.delete(key)
      else fill(shelf)
    }
  }
  const looking = clock.every(LOOK_EVERY_MS, look)

  const shelfOf = (spec: SpecOfMany): Shelf => {
    const key = JSON.stringify(spec)
    const shelf = shelves.get(key) ?? { spec, members: [], wantedMs: [], starting: new Set<Disposable>() }
    shelves.set(key, shelf)
    return shelf
  }

  const giveUpMember = (): boolean => {
    const member = [...shelves.values()].find(({ members }) => members.length > 0)?.members.shift()
    if (member) track(drop(member))
    return member !== undefined
  }
  const giveUpStart = (): boolean => {
    for (const { starting } of shelves.values()) {
      for (const room of starting) {
        starting.delete(room)
        room[Symbol.dispose]()
        return true
      }
    }
    return false
  }
  hosts.onPressure(() => giveUpMember() || giveUpStart())

  return {
    take(spec) {
      if (membersMax === 0) return undefined
      const shelf = shelfOf(spec)
      shelf.wantedMs = [...shelf.wantedMs, clock.now()].slice(-membersMax)
      const member = shelf.members.shift()
      // After the caller has taken a place of its own.
      queueMicrotask(() => fill(shelf))
      return member
    },
    drop,
    size: () => sum(({ members }) => members.length),
    async [Symbol.asyncDispose]() {
      closing = true
      looking[Symbol.dispose]()
      for (const shelf of shelves.values()) for (const member of shelf.members.splice(0)) track(drop(member))
      while (work.size > 0) await Promise.all([...work])
    },
  }
}
