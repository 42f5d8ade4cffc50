import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Job, Outcome } from "./jobs.ts"
import { errorText, type Queue, type Settlement, settlementOf, settlementOfFailure } from "./rules.ts"
import type { Claimed } from "./store.ts"

/** Jobs that one call of the handler has. */
interface Run {
  readonly claimed: readonly Claimed[]
  readonly controller: AbortController
  readonly startedMs: number
  isOver: boolean
}

export interface RunsNeeds {
  readonly clock: Clock
  readonly log: Logger
  /** What became of the jobs of a call, in their order. */
  ended(claimed: readonly Claimed[], settlements: readonly Settlement[]): void
}

export const jobOf = (queue: Queue, { job }: Claimed): Job => ({
  ...job,
  isLastAttempt: queue.delayAfter(job.attempt) === undefined,
})

const callHandler = async (queue: Queue, run: Run): Promise<readonly Outcome[] | undefined> => {
  const { definition } = queue
  const jobs = run.claimed.map(claimed => jobOf(queue, claimed))
  const { signal } = run.controller
  if ("runBatch" in definition) {
    const outcomes = (await definition.runBatch(jobs, { signal })) ?? undefined
    if (outcomes && outcomes.length !== jobs.length) {
      throw new Error(`${outcomes.length} outcomes for ${jobs.length} jobs`)
    }
    return outcomes
  }
  const [job] = jobs
  const outcome = job && (await definition.run(job, { signal }))
  return outcome ? [outcome] : undefined
}

/** The handler's calls of one queue in this process. An end is an end: what a handler says after it is ignored. */
export const createRuns = (queue: Queue, { clock, log, ended }: RunsNeeds) => {
  const runs = new Set<Run>()
  let count = 0
  let seconds = 0

  /** True for the first who ends it. */
  const end = (run: Run): boolean => {
    if (run.isOver) return false
    run.isOver = true
    runs.delete(run)
    count -= run.claimed.length
    seconds += Math.max(0, clock.now() - run.startedMs) / 1000
    return true
  }

  const endWith = (run: Run, settle: (claimed: Claimed, place: number) => Settlement) => {
    if (end(run)) ended(run.claimed, run.claimed.map(settle))
  }

  const fail = (run: Run, error: string) =>
    endWith(run, ({ job }) => settlementOfFailure(queue, job, error, clock.now()))

  const execute = async (run: Run) => {
    try {
      const outcomes = await callHandler(queue, run)
      endWith(run, ({ job }, place) =>
        settlementOf(queue, job, outcomes?.[place] ?? { kind: "done" }, clock.now()),
      )
    } catch (error) {
      if (!run.isOver) log.debug({ queue: queue.name, err: error }, "job attempt failed")
      fail(run, errorText(error))
    }
  }

  return {
    count: () => count,
    seconds: () => seconds,
    start(claimed: readonly Claimed[]) {
      count += claimed.length
      const batchMax = "runBatch" in queue.definition ? queue.definition.batchMax : 1
      for (let from = 0; from < claimed.length; from += batchMax) {
        const batch = claimed.slice(from, from + batchMax)
        const run = {
          claimed: batch,
          controller: new AbortController(),
          startedMs: clock.now(),
          isOver: false,
        }
        runs.add(run)
        execute(run).catch(err => log.error({ queue: queue.name, err }, "completing a job failed"))
      }
    },
    endLate(nowMs: number) {
      for (const run of [...runs]) {
        if (nowMs - run.startedMs < queue.timeoutMs) continue
        const reason = `it took longer than ${queue.timeoutMs} ms`
        fail(run, reason)
        run.controller.abort(new Error(reason))
      }
    },
    /** Gives the jobs back as if they had not been run. */
    release() {
      for (const run of [...runs]) {
        endWith(run, () => ({ kind: "release" }))
        run.controller.abort(new Error("the server is shutting down"))
      }
    },
    /** Gives what ran, whose outcomes matter no more. */
    abort(reason: string): readonly Claimed[] {
      const aborted = [...runs]
      for (const run of aborted) {
        end(run)
        run.controller.abort(new Error(reason))
      }
      return aborted.flatMap(({ claimed }) => claimed)
    },
  }
}
