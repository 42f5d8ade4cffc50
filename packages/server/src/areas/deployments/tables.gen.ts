// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "deployments.deployments": {
      id: string
      organization_id: string
      project_id: string
      name: string
      host_label: string
      labels: ColumnType<unknown, string>
      is_public: boolean
      min_instances: number
      max_instances: number
      newest_version: number
      version: number
      generation: number
      ready_version: number | null
      ready_generation: number | null
      failed_generation: number | null
      failed_reason: string | null
      status: string
      status_reason: string | null
      ready_instances: number
      host_id: string | null
      created_at: Date
      updated_at: Date
    }
    "deployments.instances": {
      id: string
      organization_id: string
      deployment_id: string
      number: number
      port: number | null
      host_id: string
      status: string
      status_reason: string | null
      restart_count: number
      in_flight_requests: number
      requests: number
      exit_code: number | null
      oom_killed: boolean
      started_at: Date
      stopped_at: Date | null
    }
    "deployments.versions": {
      version_id: string
      organization_id: string
      deployment_id: string
      number: number
      version_status: string
      version_reason: string | null
      kind: string
      image: string
      image_digest: string | null
      command: string[] | null
      args: string[] | null
      env: string | null
      env_names: string[]
      ports: number[]
      vcpus: number
      memory_mb: number
      restart_policy: string
      max_retries: number
      health_port: number | null
      health_path: string | null
      health_interval_seconds: number
      health_timeout_seconds: number
      health_grace_seconds: number
      unhealthy_threshold: number
      deployed_at: Date
    }
  }
}
