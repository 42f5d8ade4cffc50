// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "integrations.credentials": {
      organization_id: string
      project_id: string
      provider: string
      kind: string
      base_url: string
      username: string | null
      app_id: string | null
      secret: string
      hint: string
      created_at: Date
      updated_at: Date
    }
    "integrations.events": {
      id: string
      organization_id: string
      project_id: string
      integration_id: string
      source: string
      type: string
      provider_event: string
      delivery_id: string | null
      part: number
      repository: string
      ref: string | null
      commit: string | null
      commit_before: string | null
      message: string | null
      author: string | null
      pull_request: ColumnType<unknown, string | null>
      paths: ColumnType<unknown, string | null>
      status: string
      reason: string | null
      is_new: boolean
      build_id: string | null
      received_at: Date
      processed_at: Date | null
    }
    "integrations.heads": {
      organization_id: string
      integration_id: string
      ref: string
      commit: string
      known_at: Date
    }
    "integrations.installations": {
      organization_id: string
      project_id: string
      installation_id: number
      account_login: string
      account_type: string
      repository_selection: string
      permissions: ColumnType<unknown, string>
      suspended_at: Date | null
      html_url: string | null
      created_at: Date
    }
    "integrations.integrations": {
      id: string
      organization_id: string
      project_id: string
      provider: string
      repository: string
      installation_id: number | null
      branch_filter: string[]
      path_include: string[]
      path_exclude: string[]
      auto_build: boolean
      auto_deploy: boolean
      preview: boolean
      build: ColumnType<unknown, string>
      deploy_target: ColumnType<unknown, string | null>
      status: string
      secret: string
      secret_hint: string
      old_secret: string | null
      old_secret_until: Date | null
      last_event_at: Date | null
      last_event_id: string | null
      last_error: string | null
      polled_at: Date | null
      poll_etag: string | null
      poll_after: Date | null
      created_at: Date
      updated_at: Date
    }
  }
}
