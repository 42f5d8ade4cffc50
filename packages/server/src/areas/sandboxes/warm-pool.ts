/** Workloads that were started before anybody asked for them: as many as were asked for lately, none when nobody does. */

import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import { type Member, type PoolBucket, remove, wanted } from "./pool-bucket.ts"
import type { SpecOfMany } from "./rules.ts"

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

const spareRoom = (hosts: Hosts, { spec }: PoolBucket): Disposable | undefined => {
  try {
    return hosts.reserve({ memoryBytes: spec.memoryBytes, spare: true })
  } catch {
    return undefined
  }
}

export const createWarmPool = ({ runtime, hosts, clock, log, membersMax }: WarmPoolNeeds): WarmPool => {
  const buckets = new Map<string, PoolBucket>()
  const work = new Set<Promise<void>>()
  let closing = false

  const sum = (count: (bucket: PoolBucket) => number) =>
    [...buckets.values()].reduce((total, bucket) => total + count(bucket), 0)
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

  const startOne = async (bucket: PoolBucket, room: Disposable): Promise<void> => {
    const id = newId()
    bucket.starting.add(room)
    try {
      const guest = await runtime.start({ ...bucket.spec, id })
      const member = { id, guest, room }
      if (closing || !bucket.starting.has(room)) return await drop(member)
      bucket.members.push(member)
      void guest.ended.then(() => {
        if (remove(bucket, member)) track(drop(member))
      })
    } catch (error) {
      room[Symbol.dispose]()
      log.debug({ err: error }, "starting a warm-pool sandbox failed")
    } finally {
      bucket.starting.delete(room)
    }
  }

  const fill = (bucket: PoolBucket) => {
    const missing = () => wanted(bucket, clock.now()) - bucket.members.length - bucket.starting.size
    while (!closing && missing() > 0 && bucket.starting.size < STARTS_AT_ONCE && all() < membersMax) {
      const room = spareRoom(hosts, bucket)
      if (!room) return
      track(
        startOne(bucket, room).then(() => {
          if (bucket.members.length > 0) fill(bucket)
        }),
      )
    }
  }

  const look = () => {
    for (const [key, bucket] of buckets) {
      const surplus = bucket.members.length - wanted(bucket, clock.now())
      for (const member of bucket.members.splice(0, Math.max(0, surplus))) track(drop(member))
      if (wanted(bucket, clock.now()) === 0 && bucket.members.length + bucket.starting.size === 0)
        buckets.delete(key)
      else fill(bucket)
    }
  }
  const looking = every(clock, LOOK_EVERY_MS, look)

  const bucketOf = (spec: SpecOfMany): PoolBucket => {
    const key = JSON.stringify(spec)
    const bucket = buckets.get(key) ?? { spec, members: [], wantedMs: [], starting: new Set<Disposable>() }
    buckets.set(key, bucket)
    return bucket
  }

  const giveUpMember = (): boolean => {
    const member = [...buckets.values()].find(({ members }) => members.length > 0)?.members.shift()
    if (member) track(drop(member))
    return member !== undefined
  }
  const giveUpStart = (): boolean => {
    for (const { starting } of buckets.values()) {
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
      const bucket = bucketOf(spec)
      bucket.wantedMs = [...bucket.wantedMs, clock.now()].slice(-membersMax)
      const member = bucket.members.shift()
      // After the caller has taken a place of its own.
      queueMicrotask(() => fill(bucket))
      return member
    },
    drop,
    size: () => sum(({ members }) => members.length),
    async [Symbol.asyncDispose]() {
      closing = true
      looking[Symbol.dispose]()
      for (const bucket of buckets.values())
        for (const member of bucket.members.splice(0)) track(drop(member))
      while (work.size > 0) await Promise.all([...work])
    },
  }
}
