// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "domains.certificates": {
      domain_id: string
      organization_id: string
      id: string
      chain: string
      private_key: string
      created_at: Date
    }
    "domains.challenges": {
      domain_id: string
      token: string
      answer: string
      created_at: Date
    }
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
      certificate_source: string | null
      certificate_id: string | null
      certificate_not_after: Date | null
      certificate_error: string | null
      certificate_failures: Generated<number>
      certificate_next_at: Date | null
    }
  }
}
