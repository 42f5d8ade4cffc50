import type { Clock } from "../clock.ts"
import type { Logger } from "../log.ts"
import type { Job, NewJob, Outcome, ScheduleDefinition } from "./jobs.ts"
import { completeQueue, type Queue } from "./rules.ts"

const DEDUPE_KEY = "tick"
const EVERY_MS_MIN = 1_000

/** The first tick after a time, counted from one that was due. */
export const nextTick = (every: ScheduleDefinition["every"], dueAt: Date, after: Date): Date | undefined => {
  if (typeof every === "function") return every(after)
  const missed = Math.max(0, Math.floor((after.getTime() - dueAt.getTime()) / every))
  return new Date(dueAt.getTime() + (missed + 1) * every)
}

/** The job that stands for the schedule, when it is to be made now. */
export const firstTick = ({ name, every }: ScheduleDefinition, now: Date): NewJob | undefined => {
  const runAt = nextTick(every, now, now)
  return runAt && { queue: name, payload: null, runAt, dedupeKey: DEDUPE_KEY }
}

/** A schedule is a queue with one job, which is wanted again at the next tick whenever it is done. */
export const scheduleQueue = (schedule: ScheduleDefinition, clock: Clock, log: Logger): Queue => {
  const { name, every, missed = "once", run, timeoutMs, retries = [] } = schedule
  if (typeof every === "number" && every < EVERY_MS_MIN) throw new RangeError(`${name} has no interval`)

  const next = (dueAt: Date): Outcome => {
    const at = nextTick(every, dueAt, new Date(clock.now()))
    return at ? { kind: "again", at } : { kind: "done" }
  }
  const isMissed = ({ dueAt, attempt }: Job): boolean => {
    if (missed === "once" || attempt > 1) return false
    const after = nextTick(every, dueAt, dueAt)
    return after !== undefined && after.getTime() <= clock.now()
  }

  const definition = {
    ...{ name, retries, concurrency: 1 },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    run: async (job: Job, context: Parameters<typeof run>[1]) => {
      if (!isMissed(job)) await run({ scheduledFor: job.dueAt }, context)
      return next(job.dueAt)
    },
  }
  return completeQueue(definition, (dueAt, error) => {
    log.error({ schedule: name, error }, "tick of a job schedule failed permanently; skipped")
    return next(dueAt)
  })
}
