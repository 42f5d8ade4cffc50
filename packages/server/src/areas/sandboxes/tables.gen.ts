// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "sandboxes.sandboxes": {
      id: string
      organization_id: string
      owner_id: string
      project_id: string | null
      host_id: string
      kind: string
      name: string | null
      status: string
      stop_reason: string | null
      status_reason: string | null
      template: string
      vcpus: number
      memory_mb: number
      disk_gb: number
      timeout_seconds: number | null
      idle_timeout_seconds: number
      env: string | null
      env_names: string[]
      labels: ColumnType<unknown, string>
      cwd: string | null
      guest_user: string
      network: ColumnType<unknown, string>
      isolation: string
      cold_start: boolean | null
      provision_ms: number | null
      expires_at: Date | null
      last_activity_at: Date | null
      created_at: Date
      updated_at: Date
      started_at: Date | null
      stopped_at: Date | null
      image_digest: string | null
      ports: Generated<number[]>
    }
  }
}
