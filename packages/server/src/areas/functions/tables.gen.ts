// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "functions.codes": {
      organization_id: string
      sha256: string
      pack: Buffer
      size_bytes: number
      files: number
      created_at: Date
    }
    "functions.functions": {
      id: string
      organization_id: string
      project_id: string
      name: string
      description: string
      labels: ColumnType<unknown, string>
      is_public: boolean
      version: number
      status: string
      status_reason: string | null
      invocation_count: number
      last_invoked_at: Date | null
      created_at: Date
      updated_at: Date
    }
    "functions.invocations": {
      id: string
      organization_id: string
      function_id: string
      function_version: number
      trigger: string
      mode: string
      status: string
      status_code: number | null
      attempt: number
      created_at: Date
      started_at: Date | null
      ended_at: Date | null
      queue_ms: number | null
      init_duration_ms: number | null
      duration_ms: number | null
      memory_mb: number
      max_memory_used_mb: number | null
      cold_start: boolean | null
      payload_bytes: number
      response_bytes: number | null
      result: string | null
      error: ColumnType<unknown, string | null>
      request_id: string | null
    }
    "functions.logs": {
      id: Generated<number>
      organization_id: string
      function_id: string
      invocation_id: string | null
      at: Date
      stream: string
      message: string
    }
    "functions.payloads": {
      invocation_id: string
      payload: string
    }
    "functions.versions": {
      organization_id: string
      function_id: string
      version: number
      runtime: string
      handler: string
      code_sha256: string
      memory_mb: number
      timeout_seconds: number
      vcpus: number
      env: string | null
      env_names: string[]
      concurrency: number
      min_instances: number
      created_at: Date
      image: string | null
      image_digest: string | null
    }
  }
}
