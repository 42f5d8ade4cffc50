// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "deliveries.finished": {
      id: string
      kind: string
      tenant_id: string
      endpoint_id: string
      message_id: string
      event_type: string
      ordering_key: string | null
      bytes: number
      max_retries: number
      attempt_count: number
      status: string
      created_at: Date
      completed_at: Date
      attempts: string[]
    }
    "deliveries.lanes": {
      endpoint_id: string
      tenant_id: string
      kind: string
      worker_id: string | null
      consecutive_failures: Generated<number>
      failing_since: Date | null
      is_warned: Generated<boolean>
      blocked_until: Date | null
      last_delivery_at: Date | null
      last_success_at: Date | null
    }
    "deliveries.messages": {
      id: string
      kind: string
      tenant_id: string
      project_id: string | null
      stream_id: string
      type: string
      source: string | null
      topic: string | null
      at: Date
      data: string
    }
    "deliveries.pending": {
      id: string
      kind: string
      tenant_id: string
      endpoint_id: string
      message_id: string
      event_type: string
      ordering_key: string | null
      due_at: Date | null
      bytes: number
      max_retries: number
      attempt_count: Generated<number>
      attempts_from: Generated<number>
      attempts_max: number
      trigger: Generated<string>
      created_at: Date
      attempts: Generated<string[]>
    }
    "deliveries.workers": {
      id: string
      leased_until: Date
    }
  }
}
