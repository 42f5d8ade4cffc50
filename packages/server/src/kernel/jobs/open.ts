import { randomUUID } from "node:crypto"
import type { Clock } from "../clock.ts"
import { afterCommit, type Database, type Db } from "../db/database.ts"
import { createDebouncedPublisher } from "../debounced-publisher.ts"
import { every, stopAll } from "../every.ts"
import type { Fanout } from "../fanout.ts"
import type { Logger } from "../log.ts"
import type { MetricSources } from "../metrics.ts"
import { createAlarm } from "./alarm.ts"
import { deadLetters, pruneDead } from "./dead.ts"
import { jobFigures } from "./figures.ts"
import type { EnqueueOptions, Jobs, NewJob, QueueDefinition, ScheduleDefinition } from "./jobs.ts"
import { completeQueue, type Queue } from "./rules.ts"
import { createRunner, type Runner } from "./runner.ts"
import { firstTick, scheduleQueue } from "./schedules.ts"
import { insertJobs, jobStore } from "./store.ts"

const JOBS_TOPIC = "jobs"
/** News can be lost; then work is found this late. One statement for all queues. */
const LOOK_EVERY_MS = 2_000
const BEAT_EVERY_MS = 1_000
const PRUNE_EVERY_MS = 3_600_000

export interface JobsNeeds {
  readonly database: Database
  readonly fanout: Fanout
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: MetricSources
}

export interface RunningJobs extends AsyncDisposable {
  readonly jobs: Jobs
  /** Queues and schedules that `load` defines: it is called when a job of one of them is due. */
  defer(names: readonly string[], load: () => Promise<void>): void
  /** Begins to run the jobs of the defined queues. */
  start(): Promise<void>
  /** Claims no more, waits this long at most for what runs, and gives the rest to other processes. */
  drain(waitMsMax: number): Promise<void>
}

type Runners = ReadonlyMap<string, Runner>
/** Queues that nothing here runs yet, and what defines them. */
type Deferred = ReadonlyMap<string, () => Promise<void>>

/** Tells this process's runner and, where it has none or is full, the others. */
const createWakes = (runners: Runners, deferred: Deferred, { fanout, clock, log }: JobsNeeds) => {
  const publisher = createDebouncedPublisher(fanout, log, JOBS_TOPIC)
  /** A queue that is defined now looks for its jobs by itself. */
  const load = (queue: string) =>
    void deferred
      .get(queue)?.()
      .catch(error => log.error({ err: error, queue }, "loading the area of a job queue failed; will retry"))
  const wake = (queue: string, from: "here" | "elsewhere") => {
    const runner = runners.get(queue)
    if (runner) runner.wake(from)
    else load(queue)
  }
  const wakeHere = (queue: string) => wake(queue, "here")
  const alarm = createAlarm(clock, wakeHere)

  fanout.subscribe(JOBS_TOPIC, names => {
    for (const queue of names ?? runners.keys()) wake(queue, "elsewhere")
  })

  const enqueued = (jobs: readonly NewJob[]) => {
    const nowMs = clock.now()
    const now = new Set<string>()
    for (const { queue, runAt } of jobs) {
      if (runAt && runAt.getTime() > nowMs) expect(queue, runAt)
      else now.add(queue)
    }
    for (const queue of now) {
      if (runners.has(queue) || deferred.has(queue)) wakeHere(queue)
      else publisher.publish([queue])
    }
  }
  const expect = (queue: string, at: Date) => {
    const inMs = at.getTime() - clock.now()
    if (inMs <= 0) wakeHere(queue)
    // Later ones are found by a look in time.
    else if (inMs <= 2 * LOOK_EVERY_MS) alarm.set(queue, at.getTime())
  }
  return { publisher, alarm, enqueued, expect, wake }
}

/** What this process does for its queues by the clock. */
const createRounds = (
  runners: Runners,
  deferred: Deferred,
  worker: string,
  { database, clock }: JobsNeeds,
  { publisher, expect, wake }: ReturnType<typeof createWakes>,
) => {
  const store = jobStore(database.db)

  const look = async () => {
    const nowMs = clock.now()
    const looks = await store.look([...runners.keys(), ...deferred.keys()], nowMs)
    for (const { queue, isReady, nextAt } of looks) {
      if (isReady || (nextAt && nextAt.getTime() <= nowMs)) wake(queue, "elsewhere")
      else if (nextAt) expect(queue, nextAt)
    }
    if (!looks[0]?.hasExpired) return
    const freed = await store.reclaim(nowMs)
    for (const queue of freed) wake(queue, "elsewhere")
    publisher.publish(freed)
  }

  const beat = async () => {
    const leases = [...runners.values()].flatMap(runner => {
      const untilMs = runner.beat(clock.now())
      return untilMs === undefined ? [] : [{ queue: runner.queue.name, untilMs }]
    })
    if (leases.length === 0) return
    const held = await store.heartbeat(worker, leases)
    for (const { queue, untilMs } of leases) {
      runners.get(queue)?.extended(held.has(queue) ? untilMs : undefined)
    }
  }

  return { look, beat }
}

/** The queue of this process; nothing runs before `start`. */
export const openJobs = (needs: JobsNeeds): RunningJobs => {
  const { database, clock, log, metrics } = needs
  const { db } = database
  /** A process that comes back after its lease ran out is the same worker; claims have tokens of their own. */
  const worker = randomUUID()
  const store = jobStore(db)
  const runners = new Map<string, Runner>()
  const deferred = new Map<string, () => Promise<void>>()
  const schedules: ScheduleDefinition[] = []
  const timers: AsyncDisposable[] = []
  let hasStarted = false

  const wakes = createWakes(runners, deferred, needs)
  const rounds = createRounds(runners, deferred, worker, needs, wakes)

  const enqueue = async (on: Db, given: NewJob | readonly NewJob[], options?: EnqueueOptions) => {
    const jobs = Array.isArray(given) ? (given as readonly NewJob[]) : [given as NewJob]
    if (jobs.length === 0) return
    await insertJobs(on, new Date(clock.now()), jobs, options)
    afterCommit(on, () => wakes.enqueued(jobs))
  }

  const add = (queue: Queue) => {
    const { name } = queue
    if (runners.has(name)) throw new Error(`${name} is defined twice`)
    // A process that had not loaded its area would never run it.
    if (hasStarted && !deferred.delete(name)) throw new Error(`${name} is not among the queues of its module`)
    const { expect, publisher } = wakes
    const overflow = (full: string) => publisher.publish([full])
    const runner = createRunner(queue, { store, clock, log, worker, expect, overflow })
    runners.set(name, runner)
    if (hasStarted) runner.wake("here")
  }

  const ensureTicks = async (of: readonly ScheduleDefinition[]) => {
    const ticks = of.flatMap(schedule => firstTick(schedule, new Date(clock.now())) ?? [])
    await enqueue(db, ticks)
    for (const { queue, runAt } of ticks) if (runAt) await store.bringForward(queue, runAt)
  }

  const jobs: Jobs = {
    enqueue,
    define: <Payload>(definition: QueueDefinition<Payload>) =>
      add(completeQueue(definition as unknown as QueueDefinition)),
    schedule(schedule) {
      add(scheduleQueue(schedule, clock, log))
      schedules.push(schedule)
      if (hasStarted) {
        ensureTicks([schedule]).catch(error =>
          log.error(
            { err: error, schedule: schedule.name },
            "computing the next tick of a job schedule failed",
          ),
        )
      }
    },
    dead: deadLetters(database, clock, enqueue),
  }
  jobs.schedule({
    name: "jobs.prune",
    every: PRUNE_EVERY_MS,
    run: () =>
      pruneDead(
        db,
        clock.now(),
        [...runners.values()].map(({ queue }) => queue),
      ),
  })
  metrics.collect(() => jobFigures(db, clock.now(), [...runners.values()]))

  return {
    jobs,
    defer(names, load) {
      for (const name of names) if (!runners.has(name)) deferred.set(name, load)
    },
    async start() {
      await ensureTicks(schedules)
      hasStarted = true
      const looks = { log, failure: "polling for due jobs failed; will retry" }
      const beats = { log, failure: "renewing the leases of jobs failed; will retry" }
      timers.push(
        every(clock, LOOK_EVERY_MS, rounds.look, looks),
        every(clock, BEAT_EVERY_MS, rounds.beat, beats),
      )
      await rounds.look().catch(error => log.warn({ err: error }, looks.failure))
    },
    async drain(waitMsMax) {
      const ended = Promise.all([...runners.values()].map(runner => runner.drain()))
      const timeout = Promise.withResolvers<void>()
      const timer = setTimeout(timeout.resolve, waitMsMax)
      await Promise.race([ended, timeout.promise])
      clearTimeout(timer)
      await Promise.all([...runners.values()].map(runner => runner.abandon()))
      await stopAll(timers)
      await store.endLeases(worker, clock.now()).catch(() => undefined)
      // Other processes may have capacity for the released jobs.
      wakes.publisher.publish([...runners.keys()])
    },
    async [Symbol.asyncDispose]() {
      await stopAll(timers)
      wakes.alarm[Symbol.dispose]()
      wakes.publisher[Symbol.dispose]()
    },
  }
}
