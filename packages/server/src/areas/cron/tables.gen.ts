// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "cron.executions": {
      id: string
      organization_id: string
      schedule_id: string
      number: number
      scheduled_for: Date
      due_at: Date
      trigger: string
      status: string
      attempt: number
      started_at: Date | null
      finished_at: Date | null
      duration_ms: number | null
      lag_ms: number | null
      status_code: number | null
      response_body: string | null
      error: string | null
      skip_reason: string | null
      created_at: Date
    }
    "cron.schedules": {
      id: string
      organization_id: string
      owner_id: string
      project_id: string | null
      name: string
      description: string
      cron: string | null
      interval_seconds: number | null
      run_at: Date | null
      timezone: string
      anchor_at: Date
      target_type: string
      target_key: string
      target: string
      signing_secret_hint: string
      enabled: boolean
      overlap_policy: string
      catchup_policy: string
      catchup_window_seconds: number
      jitter_seconds: number
      timeout_seconds: number
      max_retries: number
      pause_on_failure: boolean
      start_at: Date | null
      end_at: Date | null
      next_runs: Date[]
      due_at: Date | null
      last_run_at: Date | null
      last_status: string | null
      failure_count: number
      executions_made: number
      created_at: Date
      updated_at: Date
    }
  }
}
