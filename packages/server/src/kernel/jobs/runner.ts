import { randomUUID } from "node:crypto"
import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Job, Outcome } from "./jobs.ts"
import {
  buried,
  errorText,
  isSpent,
  type Queue,
  type Settlement,
  settlementOf,
  settlementOfFailure,
} from "./rules.ts"
import type { Claimed, Cursor, JobStore } from "./store.ts"
import { createWriter } from "./writer.ts"

/** Outcomes that may wait to be written before nothing more is claimed. */
const UNWRITTEN_MAX = 2_000
/** Tenants whose last target is remembered. */
const CURSORS_MAX = 256
const FIRST: Cursor = { tenant: "00000000-0000-0000-0000-000000000000", targets: new Map() }

export interface RunnerNeeds {
  readonly store: JobStore
  readonly clock: Clock
  readonly log: Logger
  /** This process, as the holder of leases. */
  readonly worker: string
  /** A job of the queue falls due then, as far as this process knows. */
  readonly expect: (queue: string, at: Date) => void
  /** There is more than this process can run. */
  readonly overflow: (queue: string) => void
}

export interface RunnerFigures {
  readonly counts: Readonly<Record<Settlement["kind"], number>>
  readonly running: number
  readonly runSeconds: number
}

/** Runs the jobs of one queue in this process. */
export interface Runner {
  readonly queue: Queue
  /** Something may be ready. What this process has just enqueued and cannot run, others are told of. */
  wake(from: "here" | "elsewhere"): void
  /** Looks at deadlines and leases; gives until when the lease is to be extended, if it is time. */
  beat(nowMs: number): number | undefined
  /** The lease was extended until then, or is gone. */
  extended(untilMs: number | undefined): void
  figures(): RunnerFigures
  /** Claims nothing more; resolves when all that runs has ended and is written. */
  drain(): Promise<void>
  /** Gives back what still runs. */
  abandon(): Promise<void>
}

/** Jobs that one call of the handler has. */
interface Run {
  readonly claimed: readonly Claimed[]
  readonly controller: AbortController
  readonly startedMs: number
  isOver: boolean
}

const inBatches = (claimed: readonly Claimed[], batchMax: number): Claimed[][] =>
  Array.from({ length: Math.ceil(claimed.length / batchMax) }, (_, n) =>
    claimed.slice(n * batchMax, (n + 1) * batchMax),
  )

export const createRunner = (queue: Queue, needs: RunnerNeeds): Runner => {
  const { store, clock, log, worker, expect, overflow } = needs
  const { definition, name } = queue
  const runs = new Set<Run>()
  const counts = { done: 0, dead: 0, retry: 0, again: 0, release: 0 }
  let running = 0
  let runSeconds = 0
  let leasedUntilMs = 0
  let cursor = FIRST
  let isClaiming = false
  let isWanted = false
  /** The last claim filled all places, so that there may be more. */
  let hasMore = false
  let isStopped = false
  let idle = Promise.withResolvers<void>()

  const toldDead = (claimed: Claimed, error: string) => {
    log.warn({ queue: name, job: claimed.job.id, error }, "a job is dead")
    const notice = async () => definition.onDead?.(withLast(claimed), error)
    notice().catch(err => log.error({ queue: name, err }, "the notice of a dead job failed"))
  }

  const writer = createWriter(queue, {
    ...{ store, clock, log },
    written(claimed, { kind, error = "" }, nextAt) {
      counts[kind]++
      // One that was asked for again while it died lives on.
      if (kind === "dead" && !nextAt) toldDead(claimed, error)
      if (nextAt) expect(name, nextAt)
      // Behind the first of an ordering key there may be a second.
      if (claimed.job.orderingKey !== undefined || queue.perTargetConcurrency || queue.perTenantConcurrency)
        void pump()
    },
    settled: () => finishIfIdle(),
  })

  const isBusy = () => isClaiming || running > 0 || writer.size() > 0
  const finishIfIdle = () => {
    if (!isBusy()) idle.resolve()
  }

  const withLast = ({ job }: Claimed): Job => ({
    ...job,
    isLastAttempt: queue.delayAfter(job.attempt) === undefined,
  })

  /** True for the first who ends it. */
  const end = (run: Run): boolean => {
    if (run.isOver) return false
    run.isOver = true
    runs.delete(run)
    running -= run.claimed.length
    runSeconds += Math.max(0, clock.now() - run.startedMs) / 1000
    return true
  }

  const endWith = (run: Run, settlementFor: (claimed: Claimed, place: number) => Settlement) => {
    if (!end(run)) return
    for (const [place, claimed] of run.claimed.entries()) writer.add(claimed, settlementFor(claimed, place))
    if (hasMore) void pump()
  }

  const fail = (run: Run, error: string) =>
    endWith(run, ({ job }) => settlementOfFailure(queue, job, error, clock.now()))

  const call = async ({ claimed, controller: { signal } }: Run): Promise<readonly Outcome[] | undefined> => {
    if ("runBatch" in definition) {
      const outcomes = (await definition.runBatch(claimed.map(withLast), { signal })) ?? undefined
      if (outcomes && outcomes.length !== claimed.length) {
        throw new Error(`${outcomes.length} outcomes for ${claimed.length} jobs`)
      }
      return outcomes
    }
    const [first] = claimed
    const outcome = first && (await definition.run(withLast(first), { signal }))
    return outcome ? [outcome] : undefined
  }

  const start = async (claimed: readonly Claimed[]) => {
    const run: Run = { claimed, controller: new AbortController(), startedMs: clock.now(), isOver: false }
    runs.add(run)
    try {
      const outcomes = await call(run)
      endWith(run, ({ job }, place) =>
        settlementOf(queue, job, outcomes?.[place] ?? { kind: "done" }, clock.now()),
      )
    } catch (error) {
      if (!run.isOver) log.debug({ queue: name, err: error }, "a job failed")
      fail(run, errorText(error))
    }
  }

  const startAll = (claimed: readonly Claimed[]) => {
    const isSpentJob = ({ job }: Claimed) => isSpent(queue, job.attempt)
    for (const spent of claimed.filter(isSpentJob)) {
      writer.add(spent, buried(queue, spent.job, spent.job.lastError ?? "the process that ran it ended"))
    }
    const fresh = claimed.filter(one => !isSpentJob(one))
    running += fresh.length
    const batchMax = "runBatch" in definition ? definition.batchMax : 1
    for (const batch of inBatches(fresh, batchMax)) {
      start(batch).catch(err => log.error({ queue: name, err }, "a job can be given no outcome"))
    }
  }

  const moveCursor = (claimed: readonly Claimed[], isFull: boolean) => {
    const last = claimed.at(-1)
    if (!last) return
    const targets = new Map(isFull ? cursor.targets : [])
    if (isFull) {
      for (const { tenant, target } of claimed) {
        targets.delete(tenant)
        targets.set(tenant, target)
      }
      for (const tenant of targets.keys()) {
        if (targets.size <= CURSORS_MAX) break
        targets.delete(tenant)
      }
    }
    cursor = { tenant: last.tenant, targets }
  }

  const placesFree = () => (writer.size() > UNWRITTEN_MAX ? 0 : queue.concurrency - running)

  const claim = async (): Promise<void> => {
    const places = placesFree()
    const nowMs = clock.now()
    const claimed = await store.claim(queue, { limit: places, worker, token: randomUUID(), nowMs, cursor })
    if (claimed.length > 0) leasedUntilMs = Math.max(leasedUntilMs, nowMs + queue.leaseMs)
    hasMore = claimed.length === places
    if (hasMore) overflow(name)
    moveCursor(claimed, hasMore)
    startAll(claimed)
  }

  /** Claims until nothing is left or every place is taken. */
  const pump = async () => {
    isWanted = true
    if (isClaiming || isStopped) return
    isClaiming = true
    try {
      while ((isWanted || hasMore) && placesFree() > 0 && !isStopped) {
        isWanted = false
        await claim()
      }
      hasMore ||= isWanted
    } catch (error) {
      hasMore = false
      log.warn({ queue: name, error: String(error) }, "no jobs could be claimed; the next look tries again")
    } finally {
      isClaiming = false
      finishIfIdle()
    }
  }

  /** Whoever claims them now runs them again. */
  const lose = (reason: string) => {
    log.warn({ queue: name, jobs: running }, reason)
    for (const run of [...runs]) {
      end(run)
      run.controller.abort(new Error(reason))
    }
    writer.forget()
    finishIfIdle()
  }

  const endLate = (nowMs: number) => {
    for (const run of [...runs]) {
      if (nowMs - run.startedMs < queue.timeoutMs) continue
      const reason = `it took longer than ${queue.timeoutMs} ms`
      fail(run, reason)
      run.controller.abort(new Error(reason))
    }
  }

  return {
    queue,
    wake(from) {
      if (from === "here" && placesFree() <= 0) overflow(name)
      void pump()
    },
    beat(nowMs) {
      endLate(nowMs)
      writer.flush()
      if (running + writer.size() === 0) return undefined
      if (nowMs >= leasedUntilMs) {
        lose("the lease on jobs ran out")
        return undefined
      }
      return leasedUntilMs - nowMs <= (queue.leaseMs * 2) / 3 ? nowMs + queue.leaseMs : undefined
    },
    extended(untilMs) {
      if (untilMs !== undefined) leasedUntilMs = Math.max(leasedUntilMs, untilMs)
      else if (running + writer.size() > 0) lose("the lease on jobs was given to others")
    },
    figures: () => ({ counts, running, runSeconds }),
    drain() {
      isStopped = true
      idle = Promise.withResolvers<void>()
      finishIfIdle()
      return idle.promise
    },
    async abandon() {
      for (const run of [...runs]) {
        endWith(run, () => ({ kind: "release" }))
        run.controller.abort(new Error("the platform stops"))
      }
      await writer.flush()
    },
  }
}
