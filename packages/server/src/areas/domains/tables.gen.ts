// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "domains.domains": {
      id: string
      organization_id: string
      project_id: string
      domain: string
      status: string
      token: string
      txt_found: Generated<boolean>
      cname_found: Generated<boolean>
      target_type: string | null
      target_id: string | null
      target_key: string | null
      site: ColumnType<unknown, string | null>
      force_https: boolean
      hsts: boolean
      checking_since: Date
      next_check_at: Date | null
      last_checked_at: Date | null
      last_error: string | null
      verified_at: Date | null
      created_at: Date
      updated_at: Date
    }
  }
}
