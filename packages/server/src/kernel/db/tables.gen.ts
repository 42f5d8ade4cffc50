// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

export interface Tables {
  "kernel.dead_jobs": {
    id: number
    queue: string
    tenant_id: string
    target_key: string
    ordering_key: string | null
    dedupe_key: string | null
    priority: number
    attempts: number
    error: string
    enqueued_at: Date
    died_at: Date
    payload: ColumnType<unknown, string>
  }
  "kernel.job_workers": {
    id: string
    queue: string
    leased_until: Date
  }
  "kernel.jobs": {
    id: Generated<number>
    queue: string
    tenant_id: string
    target_key: string
    ordering_key: string | null
    dedupe_key: string | null
    state: string
    priority: number
    run_at: Date
    due_at: Date
    attempts: Generated<number>
    worker_id: string | null
    claim_token: string | null
    again_at: Date | null
    last_error: string | null
    enqueued_at: Date
    payload: ColumnType<unknown, string>
  }
  "kernel.migrations": {
    schema: string
    name: string
    sha256: string
    applied_at: Generated<Date>
  }
  "kernel.replays": {
    tenant_id: string
    caller_id: string
    method: string
    path: string
    idempotency_key: string
    digest: Buffer
    token: string
    claimed_until: Date
    expires_at: Date
    status: number | null
    headers: ColumnType<unknown, string | null>
    body: ColumnType<unknown, string | null>
  }
}
