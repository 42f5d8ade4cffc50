// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "events.dedupes": {
      topic_id: string
      dedupe_key: string
      message_id: string
      event_type: string
      source: string | null
      matched: number
      published_at: Date
    }
    "events.old_secrets": {
      subscription_id: string
      id: string
      secret: string
      signs_until: Date
    }
    "events.subscriptions": {
      id: string
      organization_id: string
      project_id: string | null
      owner_id: string
      topic_id: string
      sub_type: string
      target: string
      headers: string | null
      header_names: string[]
      timeout_seconds: number
      format: string
      event_types: string[]
      max_retries: number
      retry_schedule_seconds: number[] | null
      ordered: boolean
      max_per_second: number | null
      status: string
      disabled_reason: string | null
      secret: string
      secret_hint: string
      created_at: Date
      updated_at: Date
    }
    "events.topics": {
      id: string
      organization_id: string
      project_id: string | null
      owner_id: string
      name: string
      retention_days: number
      event_count: Generated<number>
      created_at: Date
      updated_at: Date
    }
  }
}
