// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "search.documents": {
      project_id: string
      source_id: string
      id: string
      title: string
      body: string
      url: string | null
      metadata: ColumnType<unknown, string>
      language: string
      boost: number
      updated_at: Date
      lexemes: string
    }
    "search.entries": {
      project_id: string
      source_id: string
      document_id: string
      hash: Buffer
      run_id: string | null
    }
    "search.languages": {
      project_id: string
      language: string
    }
    "search.runs": {
      project_id: string
      id: string
      source_id: string
      status: string
      cursor: string | null
      attempt: Generated<number>
      seen: Generated<number>
      written: Generated<number>
      unchanged: Generated<number>
      failed: Generated<number>
      removed: Generated<number>
      errors: ColumnType<unknown, string>
      error: string | null
      created_at: Date
      started_at: Date | null
      finished_at: Date | null
    }
    "search.sources": {
      id: string
      organization_id: string
      project_id: string
      name: string
      type: string
      config: ColumnType<unknown, string>
      fields: ColumnType<unknown, string>
      language: string
      schedule_seconds: number | null
      enabled: boolean
      document_count: number
      last_run_at: Date | null
      last_error: string | null
      created_at: Date
      updated_at: Date
      deleted_at: Date | null
    }
    "search.words": {
      project_id: string
      word: string
      documents: number
    }
  }
}
