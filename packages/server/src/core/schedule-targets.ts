/** What schedules can do at their times. The cron area has the times; other areas add what they can do. */
import type { CronTargetOf, CronTargetType, Scope } from "@svc/contract"

export interface ScheduleOwner {
  readonly organizationId: string
  /** Null for a schedule of the organization itself. */
  readonly projectId: string | null
}

export interface ScheduledRun extends ScheduleOwner {
  readonly scheduleId: string
  /** The same at each attempt: what is done twice can be known by it. */
  readonly executionId: string
  readonly scheduledFor: Date
  /** 1 for the first. */
  readonly attempt: number
  readonly timeoutMs: number
  /** Aborts when the run is cancelled or the platform stops. The time limit is the target's own to keep. */
  readonly signal: AbortSignal
}

export interface ScheduledOutcome {
  readonly status: "succeeded" | "failed" | "timed_out"
  readonly statusCode?: number | null
  /** What the owner may see of the answer; its beginning is kept. */
  readonly responseBody?: string | null
  /** A sentence for the owner, when it did not succeed. */
  readonly error?: string
}

export interface ScheduleTarget<Type extends CronTargetType = CronTargetType> {
  /** What a key must hold to make a schedule do this. */
  readonly scope: Scope
  /** Throws the fault for a target that cannot be saved: one that is not there, or lies in another project. */
  check(owner: ScheduleOwner, target: CronTargetOf<Type>): Promise<void>
  /** What makes it high-risk, in words; undefined when nothing does. */
  risk?(target: CronTargetOf<Type>): Promise<string | undefined>
  /** Does it once. What it throws is a failed attempt. */
  run(run: ScheduledRun, target: CronTargetOf<Type>): Promise<ScheduledOutcome>
}

export interface ScheduleTargets {
  /** For areas, while they start. */
  provide<Type extends CronTargetType>(type: Type, target: ScheduleTarget<Type>): void
  /** Says that `load` provides it. */
  provideAfter(type: CronTargetType, load: () => Promise<void>): void
  /** Loads the area that does it; undefined where none does. */
  find(type: CronTargetType): Promise<ScheduleTarget | undefined>
}

export const createScheduleTargets = (): ScheduleTargets => {
  const targets = new Map<CronTargetType, ScheduleTarget>()
  const providers = new Map<CronTargetType, () => Promise<void>>()
  return {
    // Callers that look one up by type pass it targets of that type only.
    provide: (type, target) => void targets.set(type, target as unknown as ScheduleTarget),
    provideAfter: (type, load) => void providers.set(type, load),
    async find(type) {
      if (!targets.has(type)) await providers.get(type)?.()
      return targets.get(type)
    },
  }
}
