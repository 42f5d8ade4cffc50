/** The instances of one version that are kept: so many, whether anybody asks or not, and started again by their rule. */
import { isFault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Instance, Lease } from "./instance.ts"
import { isLive, type Pool, type PoolNeeds, type Replica } from "./pool.ts"
import { type InstanceEnd, type RestartRule, type RevisionSpec, StartError, UnservedError } from "./spec.ts"
import { createWaitingQueue } from "./waiting.ts"

type Started = Awaited<ReturnType<PoolNeeds["start"]>>

/** Where one instance runs, and who comes after it when it has ended. */
interface Slot {
  readonly id: string
  readonly leaving: AbortController
  /** Beyond those that are kept, because requests need it. */
  isExtra: boolean
  state: "starting" | "up" | "waiting" | "done" | "failed"
  restarts: number
  /** One after the other. */
  failures: number
  instance: Started | undefined
  sinceMs: number
  upMs: number
  reason: string | null
  exitCode: number | null
  outOfMemory: boolean
  /** When it was given its last request, counted in requests. */
  turn: number
  timer: NodeJS.Timeout | undefined
  retryMs: number
}

export interface ReplicasNeeds extends Omit<PoolNeeds, "failed"> {
  /** How it is with them has changed. */
  readonly shifted: (spec: RevisionSpec) => void
}

/** Who stays up as long has not failed. */
const STABLE_MS = 10_000
const WAIT_MS_FIRST = 500
const WAIT_MS_MAX = 60_000
const ROOM_AGAIN_MS = 2_000
/** After which an instance is tried again that always is to run. */
const RETRY_MS = 300_000
/** What an instance is given to answer its last requests. */
const DRAIN_MS_MAX = 30_000

const NO_ROOM = "no host has room for an instance"

const drain = (instance: Instance) => {
  instance.retire()
  const timer = setTimeout(() => instance.giveUp(), DRAIN_MS_MAX)
  void instance.ended.then(() => clearTimeout(timer))
}

const isCleanlyDone = ({ when }: RestartRule, { exitCode }: InstanceEnd): boolean =>
  exitCode === 0 && when !== "always"

/** Those first that would be missed least. */
const byWorth = (one: Slot, other: Slot): number =>
  Number(one.state === "up") - Number(other.state === "up") || other.upMs - one.upMs

const statusOf = ({ leaving, state, instance, failures }: Slot): Replica["status"] => {
  if (leaving.signal.aborted) return "STOPPING"
  if (instance) return instance.status
  if (state === "done") return "DONE"
  if (state === "failed") return "FAILED"
  return failures > 0 ? "RESTARTING" : "STARTING"
}

const replicaOf = (slot: Slot): Replica => {
  const { id, restarts, instance, sinceMs, reason, exitCode, outOfMemory } = slot
  return { id, status: statusOf(slot), restarts, instance, sinceMs, reason, exitCode, outOfMemory }
}

const leastBusy = (slots: Iterable<Slot>, concurrency: number): Slot | undefined => {
  let best: Slot | undefined
  let fewest = concurrency
  for (const slot of slots) {
    const { instance } = slot
    if (!instance || !isLive(instance) || instance.inFlight >= concurrency) continue
    if (best && (instance.inFlight > fewest || (instance.inFlight === fewest && slot.turn > best.turn)))
      continue
    best = slot
    fewest = instance.inFlight
  }
  return best
}

export const createReplicas = (first: RevisionSpec, rule: RestartRule, needs: ReplicasNeeds): Pool => {
  const { nowMs, log } = needs
  const slots = new Set<Slot>()
  const queue = createWaitingQueue()
  let spec = first
  /** Undefined until somebody has said so. */
  let kept: number | undefined
  let turns = 0
  let isClosed = false

  const staying = () => [...slots].filter(({ leaving }) => !leaving.signal.aborted)
  const count = (holds: (slot: Slot) => boolean) => staying().filter(holds).length
  const shifted = () => {
    pump()
    needs.shifted(spec)
  }

  const forget = (slot: Slot) => {
    clearTimeout(slot.timer)
    slots.delete(slot)
  }

  const launch = (slot: Slot) => {
    slot.state = "starting"
    slot.sinceMs = nowMs()
    const { id, restarts, leaving } = slot
    needs.start(spec, { isSpare: false, place: { id, restarts }, signal: leaving.signal }).then(
      instance => rise(slot, instance),
      error => miss(slot, error),
    )
  }

  const rise = (slot: Slot, instance: Started) => {
    Object.assign(slot, { instance, state: "up", upMs: nowMs() })
    void instance.ended.then(end => fall(slot, instance, end))
    if (slot.leaving.signal.aborted) drain(instance)
    shifted()
  }

  const fall = (slot: Slot, instance: Started, end: InstanceEnd) => {
    slot.instance = undefined
    Object.assign(slot, { exitCode: end.exitCode, outOfMemory: end.outOfMemory, reason: end.reason })
    if (end.isExpected || slot.leaving.signal.aborted || isClosed) forget(slot)
    else if (isCleanlyDone(rule, end)) slot.state = "done"
    else {
      if (nowMs() - slot.upMs >= STABLE_MS) slot.failures = 0
      again(slot, instance.describeEnd(end), false)
    }
    shifted()
  }

  /** It could not be started. */
  const miss = (slot: Slot, error: unknown) => {
    if (slot.leaving.signal.aborted || isClosed) forget(slot)
    else if (isFault(error, "no_host_capacity")) {
      slot.reason = NO_ROOM
      wait(slot, ROOM_AGAIN_MS)
    } else {
      const isForeign = !(error instanceof StartError)
      const { exitCode = null, outOfMemory = false } = (!isForeign && error.end) || {}
      Object.assign(slot, { exitCode, outOfMemory })
      if (isForeign) log.warn({ err: error, revision: spec.id }, "starting an instance failed")
      again(slot, isForeign ? "it could not be started" : error.message, !isForeign && error.isFinal)
    }
    shifted()
  }

  const wait = (slot: Slot, ms: number) => {
    slot.state = "waiting"
    slot.timer = setTimeout(() => launch(slot), ms * needs.delayFactor)
  }

  const again = (slot: Slot, why: string, isFinal: boolean) => {
    slot.reason = why
    slot.failures += 1
    if (isFinal || rule.when === "no" || slot.failures > rule.retriesMax) {
      slot.state = "failed"
      slot.retryMs = rule.when === "always" ? nowMs() + RETRY_MS : Number.POSITIVE_INFINITY
      return
    }
    slot.restarts += 1
    wait(slot, Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (slot.failures - 1)))
  }

  const add = (isExtra: boolean) => {
    const slot: Slot = {
      ...{ id: newId(), leaving: new AbortController(), isExtra, state: "starting", restarts: 0 },
      ...{ failures: 0, instance: undefined, upMs: 0, turn: turns, timer: undefined, retryMs: 0 },
      ...{ sinceMs: nowMs(), reason: null, exitCode: null, outOfMemory: false },
    }
    slots.add(slot)
    launch(slot)
  }

  const leave = (slot: Slot) => {
    slot.leaving.abort()
    if (slot.instance) drain(slot.instance)
    else if (slot.state !== "starting") forget(slot)
  }

  const lend = (slot: Slot, instance: Instance): Lease => {
    turns += 1
    slot.turn = turns
    const lease = instance.take()
    return {
      ...lease,
      [Symbol.dispose]() {
        lease[Symbol.dispose]()
        if (queue.length > 0) pump()
      },
    }
  }

  const find = (): Lease | undefined => {
    const slot = leastBusy(staying(), spec.concurrency)
    return slot?.instance && lend(slot, slot.instance)
  }

  /** Why nobody will be served; undefined while somebody may be. */
  const hopeless = (): UnservedError | undefined => {
    if (kept === undefined) return undefined
    if (kept === 0) return new UnservedError("gone", "its instances end")
    const isOver = staying().every(({ state }) => state === "failed" || state === "done")
    return isOver ? new UnservedError("failed", "its instances have ended") : undefined
  }

  const pump = () => {
    while (queue.length > 0) {
      const lease = find()
      if (!lease) break
      queue.next()?.resolve(lease)
    }
    if (queue.length === 0 || kept === undefined || isClosed) return
    const error = hopeless()
    if (error) return queue.refuse(error)
    // Those that start may be enough.
    if (staying().length < spec.maxInstances && count(({ state }) => state !== "up") === 0) add(true)
  }

  const keep = (wanted: number) => {
    if (isClosed) return
    kept = wanted
    const own = staying().filter(({ isExtra }) => !isExtra)
    const extra = staying().filter(({ isExtra }) => isExtra)
    for (const slot of extra.slice(0, Math.max(0, wanted - own.length))) {
      slot.isExtra = false
      own.push(slot)
    }
    for (let missing = wanted - own.length; missing > 0; missing--) add(false)
    for (const slot of own.toSorted(byWorth).slice(0, Math.max(0, own.length - wanted))) leave(slot)
    if (wanted === 0) for (const slot of staying()) leave(slot)
    pump()
  }

  const sweep = () => {
    for (const slot of staying()) {
      const { instance } = slot
      instance?.check()
      if (slot.state === "up" && nowMs() - slot.upMs >= STABLE_MS) slot.failures = 0
      if (slot.state === "failed" && nowMs() >= slot.retryMs) {
        slot.restarts += 1
        launch(slot)
      }
      if (slot.isExtra && instance?.inFlight === 0 && nowMs() - instance.idleSinceMs >= spec.idleMs)
        leave(slot)
    }
  }

  return {
    get spec() {
      return spec
    },
    get replicas() {
      return [...slots].map(replicaOf)
    },
    get waiting() {
      return queue.length
    },
    get isEmpty() {
      return kept === 0 && slots.size + queue.length === 0
    },
    scale(next) {
      spec = next
    },
    async acquire(signal) {
      const lease = queue.length === 0 ? find() : undefined
      if (lease) return lease
      const error = hopeless()
      if (error) throw error
      const waited = queue.wait(spec.waitMs, signal)
      pump()
      return waited
    },
    ...{ keep, sweep, retire: () => keep(0) },
    close(error) {
      isClosed = true
      queue.refuse(error)
      for (const slot of slots) clearTimeout(slot.timer)
    },
  }
}
