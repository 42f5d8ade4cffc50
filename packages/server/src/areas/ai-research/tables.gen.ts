// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "ai_research.runs": {
      organization_id: string
      project_id: string
      id: string
      query: string
      status: string
      status_reason: string | null
      scope: string[]
      breadth: number
      depth: number
      asked_technique: string | null
      asked_model: string | null
      asked_language: string | null
      state: ColumnType<unknown, string>
      steps: ColumnType<unknown, string>
      planned: number
      sources: ColumnType<unknown, string>
      answer: string | null
      technique: string | null
      model: string | null
      method: string | null
      warnings: ColumnType<unknown, string>
      created_at: Date
      deadline_at: Date
      finished_at: Date | null
    }
  }
}
