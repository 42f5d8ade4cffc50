import type {
  CronCatchupPolicy,
  CronExecutionStatus,
  CronOverlapPolicy,
  CronTargetOf,
  CronTrigger,
} from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import { shownTarget } from "./http-target.ts"
import type { ExecutionRow, ScheduleRow } from "./store.ts"

const statusOf = ({ enabled, due_at }: ScheduleRow): "active" | "paused" | "completed" => {
  if (!enabled) return "paused"
  return due_at ? "active" : "completed"
}

export const toSchedule = (row: ScheduleRow, target: CronTargetOf) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  project_id: row.project_id,
  cron: row.cron,
  interval_seconds: row.interval_seconds,
  run_at: toIso(row.run_at),
  timezone: row.timezone,
  target: { ...shownTarget(target) },
  enabled: row.enabled,
  status: statusOf(row),
  overlap_policy: row.overlap_policy as CronOverlapPolicy,
  catchup_policy: row.catchup_policy as CronCatchupPolicy,
  catchup_window_seconds: row.catchup_window_seconds,
  jitter_seconds: row.jitter_seconds,
  timeout_seconds: row.timeout_seconds,
  max_retries: row.max_retries,
  pause_on_failure: row.pause_on_failure,
  start_at: toIso(row.start_at),
  end_at: toIso(row.end_at),
  next_run_at: toIso(row.next_runs[0] ?? null),
  next_runs: row.next_runs.map(at => at.toISOString()),
  last_run_at: toIso(row.last_run_at),
  last_status: row.last_status as CronExecutionStatus | null,
  failure_count: row.failure_count,
  signing_secret_hint: row.signing_secret_hint,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toExecution = (row: ExecutionRow) => ({
  id: row.id,
  schedule_id: row.schedule_id,
  scheduled_for: row.scheduled_for.toISOString(),
  trigger: row.trigger as CronTrigger,
  status: row.status as CronExecutionStatus,
  attempt: row.attempt,
  started_at: toIso(row.started_at),
  finished_at: toIso(row.finished_at),
  duration_ms: row.duration_ms,
  lag_ms: row.lag_ms,
  status_code: row.status_code,
  response_body: row.response_body,
  error: row.error,
  skip_reason: row.skip_reason as "overlap" | "outside_catchup_window" | null,
})
