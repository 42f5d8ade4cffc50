/** Runs executions, one job each. */
import { CRON_RESPONSE_BYTES_MAX, type CronTargetOf } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { ScheduledOutcome, ScheduledRun, ScheduleTargets } from "../../core/schedule-targets.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Job, JobContext, Jobs, Outcome } from "../../kernel/jobs/jobs.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { CANCELLED_TOPIC, EXECUTE_QUEUE } from "./claim.ts"
import { runHttpTarget } from "./http-target.ts"
import { type Begun, type Finish, runStore } from "./runs.ts"
import { openTarget } from "./sealing.ts"

const CONCURRENCY = 100
const PER_TENANT = 50
const PER_TARGET = 20
const LEASE_SECONDS = 10
/** The longest `timeout_seconds` and time to write the outcome down. */
const JOB_TIMEOUT_MS = 960_000
/** Before the second, third, … attempt; the last is repeated. Short, because the next run is a retry too. */
const RETRY_DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000] as const
const JITTER = 0.2
/** While the control database cannot take the outcome. */
const AGAIN_AFTER_MS = 5_000
const ENDED = "The process that ran it ended."

export interface ExecutorNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly outbound: Outbound
  readonly box: SecretBox
  readonly platformEvents: PlatformEvents
  readonly scheduleTargets: ScheduleTargets
  /** What delays between attempts are taken times. */
  readonly retryDelayFactor: number
}

type Payload = { readonly executionId: string }

/** Of whatever a target gave: PostgreSQL's text has no null character. */
const keptText = (text: string | null | undefined): string | null => {
  if (text === null || text === undefined) return null
  const bytes = Buffer.from(text.replaceAll("\0", "\u{fffd}"))
  if (bytes.length <= CRON_RESPONSE_BYTES_MAX) return bytes.toString()
  // A character that is cut in the middle goes too.
  return bytes
    .subarray(0, CRON_RESPONSE_BYTES_MAX)
    .toString()
    .replace(/\u{fffd}$/u, "")
}

const retryDelayMs = (attempt: number, factor: number): number => {
  const delayMs = RETRY_DELAYS_MS[Math.min(attempt, RETRY_DELAYS_MS.length) - 1] ?? 0
  return delayMs * factor * (1 - JITTER + 2 * JITTER * Math.random())
}

/** Does what the schedule says. Never rejects for what the target does or is. */
const act = async (needs: ExecutorNeeds, begun: Begun, run: ScheduledRun): Promise<ScheduledOutcome> => {
  const { target, signingSecret } = await openTarget(needs.box, begun.schedule)
  if (target.type === "http") {
    return await runHttpTarget({ outbound: needs.outbound, now: needs.clock.now }, run, target, signingSecret)
  }
  const kind = await needs.scheduleTargets.find(target.type)
  if (!kind)
    return {
      status: "failed",
      error: `Nothing on this installation runs targets of the type ${target.type}.`,
    }
  try {
    return await kind.run(run, target as CronTargetOf)
  } catch (error) {
    if (isFault(error)) return { status: "failed", statusCode: error.status, error: error.message }
    needs.log.error({ err: error, schedule: run.scheduleId }, "running the target of a cron schedule failed")
    return { status: "failed", error: "Something went wrong on our side." }
  }
}

const conclude = async (needs: ExecutorNeeds, begun: Begun, finish: Finish): Promise<void> => {
  const { database, platformEvents } = needs
  const { execution, schedule } = begun
  const type = finish.status === "succeeded" ? "cron.execution.succeeded" : "cron.execution.failed"
  const { organization_id: organizationId, project_id: projectId } = schedule
  if (!platformEvents.isWanted(organizationId, type)) {
    await runStore(database.db).finish(begun, finish)
    return
  }
  await database.transaction(async tx => {
    if (!(await runStore(tx).finish(begun, finish))) return
    const data = {
      schedule_id: schedule.id,
      execution_id: execution.id,
      name: schedule.name,
      scheduled_for: execution.scheduled_for.toISOString(),
      error: finish.error,
    }
    await platformEvents.emit(tx, { organizationId, projectId, type, data })
  })
}

/** The attempts that this process makes at the moment, to end them when somebody cancels. */
const createAttempts = (changes: Changes) => {
  const running = new Map<string, AbortController>()
  changes.subscribe(CANCELLED_TOPIC, id => {
    if (id !== undefined) running.get(id)?.abort()
  })
  return {
    async during<Result>(id: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
      const controller = new AbortController()
      running.set(id, controller)
      try {
        return await work(controller.signal)
      } finally {
        if (running.get(id) === controller) running.delete(id)
      }
    },
  }
}

const attemptWith = (needs: ExecutorNeeds, attempts: ReturnType<typeof createAttempts>) => {
  const { database, clock, retryDelayFactor } = needs

  const settle = async (
    begun: Begun,
    outcome: ScheduledOutcome,
    startedAt: Date,
    attempt: number,
    durationMs: number,
  ) => {
    const { max_retries } = begun.schedule
    const finish: Finish = {
      ...{ status: outcome.status, attempt, startedAt, durationMs },
      finishedAt: new Date(clock.now()),
      statusCode: outcome.statusCode ?? null,
      responseBody: keptText(outcome.responseBody),
      error: keptText(outcome.error),
    }
    if (outcome.status === "succeeded" || attempt > max_retries) {
      await conclude(needs, begun, finish)
      return undefined
    }
    await runStore(database.db).putOff(begun, finish)
    const at = new Date(clock.now() + retryDelayMs(attempt, retryDelayFactor))
    return { kind: "retry" as const, at, reason: finish.error ?? "" }
  }

  return async (
    { tenantId, payload, attempt }: Job<Payload>,
    { signal }: JobContext,
  ): Promise<Outcome | undefined> => {
    const startedAt = new Date(clock.now())
    const begun = await runStore(database.db).begin(tenantId ?? "", payload.executionId, attempt, startedAt)
    if (!begun) return undefined
    if (begun.orphaned) {
      await database.transaction(tx => runStore(tx).abandon(begun, startedAt))
      return undefined
    }
    const { execution, schedule } = begun
    // Its last attempt had begun, and whether that did anything is not known.
    if (attempt > schedule.max_retries + 1) {
      return await settle(begun, { status: "failed", error: ENDED }, startedAt, attempt, 0)
    }
    const fromMs = performance.now()
    const outcome = await attempts.during(execution.id, cancelled =>
      act(needs, begun, {
        ...{ organizationId: schedule.organization_id, projectId: schedule.project_id },
        ...{ scheduleId: schedule.id, executionId: execution.id, scheduledFor: execution.scheduled_for },
        ...{ attempt, timeoutMs: schedule.timeout_seconds * 1_000 },
        signal: AbortSignal.any([signal, cancelled]),
      }),
    )
    // The platform stops: another process takes it up.
    if (signal.aborted) return undefined
    return await settle(begun, outcome, startedAt, attempt, Math.round(performance.now() - fromMs))
  }
}

export const defineExecutor = (needs: ExecutorNeeds): void => {
  needs.jobs.define<Payload>({
    name: EXECUTE_QUEUE,
    concurrency: CONCURRENCY,
    perTenantConcurrency: PER_TENANT,
    perTargetConcurrency: PER_TARGET,
    // What a dead process ran blocks the runs after it for as long.
    leaseSeconds: LEASE_SECONDS,
    timeoutMs: JOB_TIMEOUT_MS,
    // The handler knows when an execution has failed for good; before it has written so, the job must come back.
    retries: () => AGAIN_AFTER_MS,
    run: attemptWith(needs, createAttempts(needs.changes)),
  })
}
