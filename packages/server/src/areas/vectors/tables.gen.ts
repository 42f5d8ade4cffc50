// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "vectors.collections": {
      id: string
      organization_id: string
      owner_id: string
      name: string
      dimension: number
      metric: string
      index_type: string
      m: number
      ef_construction: number
      vector_count: number
      last_seq: number
      forgotten_seq: number
      created_at: Date
      updated_at: Date
    }
    "vectors.dropped": {
      collection_id: string
      dropped_at: Date
    }
    "vectors.vectors": {
      collection_id: string
      id: string
      seq: number
      values: Buffer | null
      metadata: ColumnType<unknown, string | null>
      deleted_at: Date | null
    }
  }
}
