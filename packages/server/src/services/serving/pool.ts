/** The instances of one revision in this process, and who waits for one. */
import { availableParallelism } from "node:os"
import { isFault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Instance, InstanceStatus, Lease, StartOptions } from "./instance.ts"
import { type InstanceEnd, type RevisionSpec, StartError, UnservedError } from "./spec.ts"
import { createWaitingQueue } from "./waiting.ts"

export interface Pool {
  readonly spec: RevisionSpec
  readonly waiting: number
  /** Undefined where instances follow requests. */
  readonly replicas: readonly Replica[] | undefined
  /** Neither has nor needs an instance. */
  readonly isEmpty: boolean
  /** How many may run has changed, and nothing else. */
  scale(spec: RevisionSpec): void
  /** An instance for one request, started where there is none. Throws an UnservedError, or `no_host_capacity`. */
  acquire(signal: AbortSignal): Promise<Lease>
  /** Has so many instances at least, however long they are idle. */
  keep(instances: number): void
  /** Ends those that are idle for long and not kept, and looks after the others. */
  sweep(): void
  /** Takes no more: who waits already is still served, and then all end. */
  retire(): void
  /** Starts nothing more, and lets nobody wait. */
  close(error: unknown): void
}

/** The place of one instance that is kept, and how it is there. */
export interface Replica {
  readonly id: string
  /** DONE: it ended, as it may. FAILED: it is not started any more, or only after a long time. */
  readonly status: InstanceStatus | "RESTARTING" | "DONE" | "FAILED"
  readonly restarts: number
  /** The one that runs there. */
  readonly instance: Instance | undefined
  readonly sinceMs: number
  /** Of the last one there that ended, or could not start; null while none did. */
  readonly reason: string | null
  readonly exitCode: number | null
  readonly outOfMemory: boolean
}

/** Starts an instance that can tell how it ended. */
export interface PoolNeeds {
  readonly start: (
    spec: RevisionSpec,
    options: StartOptions,
  ) => Promise<Instance & { describeEnd(end: InstanceEnd): string }>
  readonly nowMs: () => number
  readonly log: Logger
  /** Factor of the waits between starts that fail. */
  readonly delayFactor: number
  /** It cannot be started. */
  readonly failed: (spec: RevisionSpec, reason: string) => void
}

/** Instances that start at once: more would only slow each other down. */
const STARTING_MAX = Math.max(2, availableParallelism())
/** Starts that fail one after the other before nothing more is tried. */
const STARTS_MAX = 5
const WAIT_MS = [250, 1_000, 2_000, 4_000]
/** After which a revision that could not be started is tried again, when it is requested. */
const FAILED_MS = 30_000
/** An instance that ends by itself sooner, without a request, has not really started. */
const EARLY_MS = 10_000

export const isLive = ({ status }: Instance): boolean => status === "RUNNING"

/** The first that is not busy, so that others may become idle; else the least busy one that has room. */
export const choose = (instances: Iterable<Instance>, concurrency: number): Instance | undefined => {
  let least: Instance | undefined
  for (const one of instances) {
    if (!isLive(one) || one.inFlight >= concurrency) continue
    if (one.inFlight < concurrency / 2) return one
    if (!least || one.inFlight < least.inFlight) least = one
  }
  return least
}

export const createPool = (first: RevisionSpec, needs: PoolNeeds): Pool => {
  const { nowMs, log } = needs
  const instances = new Set<Instance>()
  const queue = createWaitingQueue()
  let spec = first
  let starting = 0
  let kept = 0
  let failures = 0
  let isRetired = false
  let pause: NodeJS.Timeout | undefined
  let failure: { readonly reason: string; readonly untilMs: number } | undefined

  const isFailed = () => failure !== undefined && nowMs() < failure.untilMs
  const live = () => [...instances].filter(isLive).length

  const lend = (instance: Instance): Lease => {
    const lease = instance.take()
    return {
      ...lease,
      [Symbol.dispose]() {
        lease[Symbol.dispose]()
        if (queue.length > 0) pump()
      },
    }
  }

  const pump = () => {
    while (queue.length > 0) {
      const instance = choose(instances, spec.concurrency)
      if (!instance) break
      queue.next()?.resolve(lend(instance))
    }
    grow(Math.ceil(queue.length / spec.concurrency), false)
    if (!isRetired) grow(kept - live(), true)
    if (isRetired && queue.length === 0) for (const instance of instances) instance.retire()
  }

  const grow = (wanted: number, isSpare: boolean) => {
    if (pause || isFailed()) return
    const most = Math.min(wanted, Math.max(1, spec.maxInstances) - live(), STARTING_MAX)
    while (starting < most) {
      starting += 1
      needs
        .start(spec, { isSpare })
        .finally(() => {
          starting -= 1
        })
        .then(add, error => fail(error, isSpare))
    }
  }

  const add = (instance: Awaited<ReturnType<PoolNeeds["start"]>>) => {
    failure = undefined
    instances.add(instance)
    const readyMs = nowMs()
    void instance.ended.then(end => {
      instances.delete(instance)
      const isEarly = instance.served === 0 && nowMs() - readyMs < EARLY_MS
      if (end.isExpected || !isEarly) pump()
      else fail(new StartError(instance.describeEnd(end)), false)
    })
    pump()
  }

  const giveUp = (reason: string) => {
    failure = { reason, untilMs: nowMs() + FAILED_MS }
    failures = STARTS_MAX - 1
    queue.refuse(new UnservedError("failed", reason))
    needs.failed(spec, reason)
  }

  const fail = (error: unknown, isSpare: boolean) => {
    if (isFault(error, "no_host_capacity")) {
      // Those that run or start may serve who waits.
      if (!isSpare && live() + starting === 0) queue.refuse(error)
      return
    }
    if (!(error instanceof StartError))
      log.warn({ err: error, revision: spec.id }, "starting an instance failed")
    const reason = error instanceof StartError ? error.message : "it could not be started"
    failures += 1
    if (failures >= STARTS_MAX || (error instanceof StartError && error.isFinal)) return giveUp(reason)
    pause ??= setTimeout(
      () => {
        pause = undefined
        pump()
      },
      (WAIT_MS[failures - 1] ?? 0) * needs.delayFactor,
    )
  }

  return {
    get spec() {
      return spec
    },
    replicas: undefined,
    get waiting() {
      return queue.length
    },
    get isEmpty() {
      return instances.size + starting + queue.length + kept === 0 && !pause && !isFailed()
    },
    scale(next) {
      spec = next
    },
    async acquire(signal) {
      const instance = queue.length === 0 ? choose(instances, spec.concurrency) : undefined
      if (instance) return lend(instance)
      if (failure && isFailed()) throw new UnservedError("failed", failure.reason)
      const lease = queue.wait(spec.waitMs, signal)
      pump()
      return lease
    },
    keep(wanted) {
      kept = wanted
      pump()
    },
    sweep() {
      const running = [...instances].filter(isLive)
      const old = (one: Instance) => nowMs() - one.startedMs >= EARLY_MS
      if (running.some(one => one.served > 0 || old(one))) failures = 0
      for (const one of running) one.check()
      const idle = running.filter(one => one.inFlight === 0 && nowMs() - one.idleSinceMs >= spec.idleMs)
      for (const one of idle.slice(0, Math.max(0, running.length - kept))) one.retire()
      if (!isRetired) grow(kept - live(), true)
    },
    retire() {
      isRetired = true
      kept = 0
      pump()
    },
    close(error) {
      isRetired = true
      kept = 0
      clearTimeout(pause)
      queue.refuse(error)
    },
  }
}
