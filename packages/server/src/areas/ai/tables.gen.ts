// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "ai.accounts": {
      organization_id: string
      monthly_limit_micros: number | null
      month: string
      spent_nanos: number
      reserved_nanos: number
      day: string
      day_requests: number
    }
    "ai.reservations": {
      organization_id: string
      id: string
      input_nanos: number
      reserved_nanos: number
      expires_at: Date
    }
    "ai.upstreams": {
      id: string
      organization_id: string
      name: string
      base_url: string
      api_key: string | null
      api_key_hint: string | null
      models: ColumnType<unknown, string>
      priority: number
      weight: number
      enabled: boolean
      created_at: Date
      updated_at: Date
    }
  }
}
