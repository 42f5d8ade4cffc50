// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "builds.builds": {
      organization_id: string
      project_id: string
      id: string
      status: string
      status_reason: string | null
      source: string
      repository: string | null
      branch: string | null
      commit_sha: string | null
      context_path: string | null
      auth_token: string | null
      image_repository: string
      image_tag: string
      image_digest: string | null
      image_size_bytes: number | null
      dockerfile_path: string | null
      build_args: string
      build_args_shown: ColumnType<unknown, string>
      target: string | null
      no_cache: boolean
      timeout_seconds: number
      cached_steps: Generated<number>
      total_steps: Generated<number>
      created_at: Date
      updated_at: Date
      started_at: Date | null
      finished_at: Date | null
    }
    "builds.lines": {
      project_id: string
      build_id: string
      number: number
      at: Date
      step: number
      stream: string
      message: string
    }
    "builds.uploads": {
      project_id: string
      build_id: string
      blob: string
    }
  }
}
