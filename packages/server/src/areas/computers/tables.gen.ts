// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "computers.computers": {
      id: string
      organization_id: string
      owner_id: string
      project_id: string | null
      host_id: string
      name: string
      status: string
      status_reason: string | null
      host_lost: boolean
      vcpus: number
      memory_mb: number
      disk_gb: number
      image: string
      ssh_keys: string[]
      env: string | null
      env_names: string[]
      labels: ColumnType<unknown, string>
      private_ip: string
      isolation: string
      auto_stop_seconds: number
      last_activity_at: Date | null
      created_at: Date
      updated_at: Date
      started_at: Date | null
      stopped_at: Date | null
      image_digest: string | null
    }
  }
}
