// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "databases.branches": {
      id: string
      organization_id: string
      database_id: string
      name: string
      parent_id: string | null
      parent_lsn: string | null
      parent_timestamp: Date | null
      protected: boolean
      state: string
      volume_id: string
      credentials: string
      expires_at: Date | null
      created_at: Date
      updated_at: Date
    }
    "databases.databases": {
      id: string
      organization_id: string
      project_id: string
      name: string
      pg_version: number
      isolation: string
      state: string
      is_default: boolean
      parent_id: string | null
      default_branch_id: string
      suspend_timeout_seconds: number
      history_retention_seconds: number
      created_at: Date
      updated_at: Date
      last_active_at: Date | null
      deleted_at: Date | null
      purge_at: Date | null
      storage_state: Generated<string>
      only_drop_frees: Generated<boolean>
    }
    "databases.query_log": {
      id: string
      tenant_id: string
      project_id: string
      database_id: string
      branch_id: string
      query_id: string
      sql: string
      command: string | null
      sqlstate: string | null
      error: string | null
      rows: number | null
      duration_ms: number
      wake_ms: number
      started_at: Date
      source: string
      key_id: string | null
      user_name: string | null
      application_name: string | null
      client_addr: string | null
      read_only: boolean
      request_id: string | null
    }
    "databases.volumes": {
      id: string
      organization_id: string
      database_id: string
      pg_version: number
      isolation: string
      state: string
      logical_size_bytes: number
      physical_size_bytes: number
      history_size_bytes: number
      created_at: Date
      data_size_bytes: Generated<number>
      read_only: Generated<boolean>
      creator_id: string | null
      lease_until: Date | null
    }
    "databases.wakes": {
      branch_id: string
      organization_id: string
      started_at: Date
      ended_at: Date | null
      wake_ms: number
    }
  }
}
