import { randomUUID } from "node:crypto"
import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import { createCursor } from "./cursor.ts"
import { createLostClaims } from "./lost-claims.ts"
import { buried, isSpent, type Queue, type Settlement } from "./rules.ts"
import { createRuns, jobOf } from "./runs.ts"
import type { Claimed, JobStore } from "./store.ts"
import { createWriter } from "./writer.ts"

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

/** Claims while there are places: one statement at a time, each for as many jobs as there are places. */
const createPump = (
  queue: Queue,
  { store, clock, log, worker, overflow }: RunnerNeeds,
  hooks: {
    places(): number
    claimed(claimed: readonly Claimed[], leasedUntilMs: number): void
    /** A claim whose answer was lost. */
    lost(token: string): void
    paused(): void
  },
) => {
  const cursor = createCursor()
  let isClaiming = false
  let isWanted = false
  let isStopped = false
  /** The last claim filled all places, so that there may be more. */
  let hasMore = false

  const claim = async (limit: number): Promise<void> => {
    const nowMs = clock.now()
    const token = randomUUID()
    const claimed = await store
      .claim(queue, { limit, worker, token, nowMs, cursor: cursor.current() })
      .catch(error => {
        // It may have reached the database all the same.
        hooks.lost(token)
        throw error
      })
    hasMore = claimed.length === limit
    if (hasMore) overflow(queue.name)
    cursor.move(claimed, hasMore)
    if (claimed.length > 0) hooks.claimed(claimed, nowMs + queue.leaseMs)
  }

  const run = async () => {
    isWanted = true
    if (isClaiming || isStopped) return
    isClaiming = true
    try {
      while ((isWanted || hasMore) && hooks.places() > 0 && !isStopped) {
        isWanted = false
        await claim(hooks.places())
      }
      hasMore ||= isWanted
    } catch (error) {
      hasMore = false
      log.warn({ queue: queue.name, error: String(error) }, "claiming jobs failed; will retry")
    } finally {
      isClaiming = false
      hooks.paused()
    }
  }

  return {
    /** Something may be ready. */
    run: () => void run(),
    /** A place is free again. */
    resume() {
      if (hasMore) void run()
    },
    isClaiming: () => isClaiming,
    stop() {
      isStopped = true
    },
  }
}

export const createRunner = (queue: Queue, needs: RunnerNeeds): Runner => {
  const { clock, log, expect, overflow } = needs
  const { name, definition } = queue
  const isCapped = queue.perTenantConcurrency !== undefined || queue.perTargetConcurrency !== undefined
  const counts = { done: 0, dead: 0, retry: 0, again: 0, release: 0 }
  const idle = Promise.withResolvers<void>()
  let isDraining = false
  let leasedUntilMs = 0

  /** Jobs that are ours: they run, or what became of them is not written yet. */
  const held = () => runs.count() + writer.size()
  const finishIfIdle = () => {
    if (isDraining && held() === 0 && !pump.isClaiming()) idle.resolve()
  }

  const tellDead = (claimed: Claimed, error: string) => {
    log.warn({ queue: name, job: claimed.job.id, error }, "job failed permanently and was dead-lettered")
    const notice = async () => definition.onDead?.(jobOf(queue, claimed), error)
    notice().catch(err => log.error({ queue: name, err }, "handling a dead-lettered job failed"))
  }

  const writer = createWriter(queue, {
    ...needs,
    written(claimed, { kind, error = "" }, nextAt) {
      counts[kind]++
      // One that was asked for again while it died lives on.
      if (kind === "dead" && !nextAt) tellDead(claimed, error)
      if (nextAt) expect(name, nextAt)
      // Others may have waited for just this one.
      if (isCapped || claimed.job.orderingKey !== undefined) pump.run()
    },
    settled() {
      pump.resume()
      finishIfIdle()
    },
  })

  const runs = createRuns(queue, {
    ...{ clock, log },
    ended(claimed, settlements) {
      for (const [place, settlement] of settlements.entries()) {
        const one = claimed[place]
        if (one) writer.add({ claimed: one, settlement })
      }
      pump.resume()
    },
  })

  const pump = createPump(queue, needs, {
    // A kill repeats what is not written, so that is bounded like what runs.
    places: () => (writer.size() > queue.concurrency ? 0 : queue.concurrency - runs.count()),
    claimed(claimed, untilMs) {
      leasedUntilMs = Math.max(leasedUntilMs, untilMs)
      const [spent, fresh] = [true, false].map(is =>
        claimed.filter(({ job }) => isSpent(queue, job.attempt) === is),
      )
      for (const one of spent ?? []) {
        const reason = one.job.lastError ?? "the process that ran it ended"
        writer.add({ claimed: one, settlement: buried(queue, one.job, reason) })
      }
      runs.start(fresh ?? [])
    },
    lost: token => lostClaims.add(token, false),
    paused: finishIfIdle,
  })

  const lostClaims = createLostClaims(queue, needs, pump.run)

  /** The next process that claims them runs them again. */
  const lose = (reason: string) => {
    log.warn({ queue: name, jobs: held() }, reason)
    const unwritten = writer.forget().map(({ claimed }) => claimed)
    for (const { token } of [...runs.abort(reason), ...unwritten]) lostClaims.add(token, true)
    finishIfIdle()
  }

  return {
    queue,
    wake(from) {
      if (from === "here" && runs.count() >= queue.concurrency) overflow(name)
      pump.run()
    },
    beat(nowMs) {
      runs.endLate(nowMs)
      void writer.flush()
      void lostClaims.free()
      if (held() === 0) return undefined
      if (nowMs >= leasedUntilMs) {
        lose("job lease expired; running jobs were aborted")
        return undefined
      }
      return leasedUntilMs - nowMs <= (queue.leaseMs * 2) / 3 ? nowMs + queue.leaseMs : undefined
    },
    extended(untilMs) {
      if (untilMs !== undefined) leasedUntilMs = Math.max(leasedUntilMs, untilMs)
      else if (held() > 0) lose("job lease was taken over by another process; running jobs were aborted")
    },
    figures: () => ({ counts, runSeconds: runs.seconds() }),
    drain() {
      isDraining = true
      pump.stop()
      finishIfIdle()
      return idle.promise
    },
    async abandon() {
      runs.release()
      await writer.flush()
    },
  }
}
