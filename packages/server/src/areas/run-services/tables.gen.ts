// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "run_services.figures": {
      organization_id: string
      service_id: string
      host_id: string
      at: Date
      requests: number
      errors: number
      latencies: number[]
    }
    "run_services.files": {
      organization_id: string
      service_id: string
      sha256: string
      pack: Buffer
    }
    "run_services.instances": {
      id: string
      organization_id: string
      service_id: string
      revision_id: string
      host_id: string
      status: string
      status_reason: string | null
      in_flight_requests: number
      requests: number
      exit_code: number | null
      oom_killed: boolean
      started_at: Date
      stopped_at: Date | null
    }
    "run_services.revisions": {
      revision_id: string
      organization_id: string
      service_id: string
      number: number
      status: string
      status_reason: string | null
      image: string
      image_digest: string | null
      files_sha256: string | null
      files_size_bytes: number
      command: string[] | null
      args: string[] | null
      env: string | null
      env_names: string[]
      port: number
      vcpus: number
      memory_mb: number
      concurrency: number
      timeout_seconds: number
      idle_timeout_seconds: number
      health_path: string | null
      health_interval_seconds: number
      health_timeout_seconds: number
      health_grace_seconds: number
      unhealthy_threshold: number
      deployed_at: Date
    }
    "run_services.services": {
      id: string
      organization_id: string
      project_id: string
      name: string
      host_label: string
      labels: ColumnType<unknown, string>
      is_public: boolean
      min_instances: number
      max_instances: number
      revision: number
      ready_revision: number | null
      traffic: ColumnType<unknown, string>
      created_at: Date
      updated_at: Date
    }
  }
}
