import { availableParallelism } from "node:os"
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { PortError } from "../../ports/port-error.ts"
import { type Instance, LoadError } from "./instance.ts"
import type { FunctionSpec, Outcome, Work } from "./work.ts"

/** The instances of one version of a function in this process, and who waits for one. */
export interface Group {
  readonly spec: FunctionSpec
  readonly instances: ReadonlySet<Instance>
  readonly queued: number
  /** Neither has nor needs an instance. */
  readonly isEmpty: boolean
  invoke(work: Work): Promise<Outcome>
  /** Has so many instances at least, however long they are idle. */
  keep(instances: number): void
  /** Ends those that are idle since that time and not kept. */
  sweep(idleSinceMs: number): void
  /** Stops those that are idle since that time until they have work. */
  rest(idleSinceMs: number): void
  /** Takes no more: who waits already is still served, and then all end. */
  retire(): void
  /** Refuses all that wait. */
  refuse(error: Fault): void
}

export const INSTANCES_MAX = 10
/** Instances that start at once: more would only slow each other down. */
const STARTING_MAX = availableParallelism()
const QUEUE_MAX = 256
const QUEUE_MS_MAX = 60_000

interface QueuedWork {
  readonly work: Work
  readonly sinceMs: number
  readonly timer: NodeJS.Timeout
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

export const isIdle = (instance: Instance): boolean => instance.isFree && instance.inFlight === 0

const throttled = (reason: string): Fault =>
  fault("function_throttled", { reason }, { headers: { "retry-after": "1" } })

const toFault = (error: unknown): unknown =>
  error instanceof PortError
    ? fault("service_unavailable", { reason: "no instance could be started" }, { internal: error })
    : error

const run = async (instance: Instance, work: Work, sinceMs: number): Promise<Outcome> => {
  const coldStart = instance.served === 0
  const queueMs = performance.now() - sinceMs
  const answer = await instance.invoke(work)
  return { ...answer, queueMs, coldStart, initMs: coldStart ? instance.initMs : null }
}

const notLoaded = ({ error, initMs }: LoadError, sinceMs: number): Outcome => ({
  ...{ status: "error", error, result: null, reply: undefined, durationMs: 0, maxMemoryMb: null },
  ...{ responseBytes: 0, queueMs: performance.now() - sinceMs, coldStart: true, initMs },
})

/** Those that wait, the first first, none of them for too long. */
const createQueue = () => {
  const waiting: QueuedWork[] = []
  return {
    get length() {
      return waiting.length
    },
    wait: (work: Work, sinceMs: number): Promise<Outcome> =>
      new Promise((resolve, reject) => {
        if (waiting.length >= QUEUE_MAX) return reject(throttled(`${QUEUE_MAX} invocations wait already`))
        const refuse = (reason: string) => {
          const at = waiting.indexOf(one)
          if (at < 0) return
          waiting.splice(at, 1)
          clearTimeout(timer)
          reject(throttled(reason))
        }
        const timer = setTimeout(
          () => refuse(`no instance was free for ${QUEUE_MS_MAX / 1000} s`),
          QUEUE_MS_MAX,
        )
        const one: QueuedWork = { work, sinceMs, timer, resolve, reject }
        waiting.push(one)
        work.signal?.addEventListener("abort", () => refuse("its caller left"), { once: true })
      }),
    next(): QueuedWork | undefined {
      const first = waiting.shift()
      clearTimeout(first?.timer)
      return first
    },
  }
}

/** `start` makes an instance of the spec; a spare one takes no other's place on the host. */
export const createGroup = (
  spec: FunctionSpec,
  start: (isSpare: boolean) => Promise<Instance>,
  log: Logger,
): Group => {
  const instances = new Set<Instance>()
  const queue = createQueue()
  let starting = 0
  let kept = 0
  let isRetired = false

  const pump = () => {
    for (const instance of instances) {
      while (instance.isFree && queue.length > 0) {
        const next = queue.next()
        if (!next) break
        run(instance, next.work, next.sinceMs).then(next.resolve, next.reject).finally(pump)
      }
    }
    grow(Math.ceil(queue.length / spec.concurrency), false)
    if (isRetired && queue.length === 0) for (const instance of instances) instance.retire()
  }

  const grow = (wanted: number, isSpare: boolean) => {
    while (starting < Math.min(wanted, INSTANCES_MAX - instances.size, STARTING_MAX)) {
      starting += 1
      start(isSpare)
        .finally(() => {
          starting -= 1
        })
        .then(add, error => fail(error, isSpare))
    }
  }

  const add = (instance: Instance) => {
    instances.add(instance)
    instance.ended.then(() => {
      instances.delete(instance)
      pump()
    })
    pump()
  }

  /** Each failed start is told to one that waits; where there is no room, those that run or start may serve the others. */
  const fail = (error: unknown, isSpare: boolean) => {
    const isFull = isFault(error, "no_host_capacity")
    if (isFull && isSpare) return pump()
    if (isFull && instances.size + starting > 0) return
    const first = queue.next()
    if (first && error instanceof LoadError) first.resolve(notLoaded(error, first.sinceMs))
    else if (first) first.reject(toFault(error))
    else if (!isFull && !(error instanceof LoadError))
      log.warn({ err: error }, "starting a function instance failed")
    pump()
  }

  return {
    spec,
    instances,
    get queued() {
      return queue.length
    },
    get isEmpty() {
      return instances.size + starting + queue.length + kept === 0
    },
    invoke(work) {
      const sinceMs = performance.now()
      if (queue.length === 0) {
        for (const instance of instances) {
          if (instance.isFree) return run(instance, work, sinceMs).finally(pump)
        }
      }
      const outcome = queue.wait(work, sinceMs)
      pump()
      return outcome
    },
    keep(wanted) {
      kept = wanted
      grow(wanted - instances.size, true)
    },
    sweep(idleSinceMs) {
      const idle = [...instances].filter(one => isIdle(one) && one.idleSinceMs <= idleSinceMs)
      for (const instance of idle.slice(0, Math.max(0, instances.size - kept))) instance.retire()
    },
    rest(idleSinceMs) {
      for (const instance of instances)
        if (isIdle(instance) && instance.idleSinceMs <= idleSinceMs) instance.rest()
    },
    retire() {
      isRetired = true
      pump()
    },
    refuse(error) {
      for (let one = queue.next(); one; one = queue.next()) one.reject(error)
    },
  }
}
