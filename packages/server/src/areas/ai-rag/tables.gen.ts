// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "ai_rag.chunks": {
      project_id: string
      document_id: string
      id: string
      text: string
      heading: string | null
      page: number | null
      start_at: number
      end_at: number
      lexemes: string
      length: number
      embedding_model: string
      embedding_dimensions: number
      embedding: Buffer
    }
    "ai_rag.documents": {
      organization_id: string
      project_id: string
      id: string
      name: string
      content_type: string
      format: string
      size: number
      sha256: Buffer
      address: string | null
      status: string
      status_reason: string | null
      pages: number | null
      chunks: number
      tokens: number
      embedding_model: string | null
      embedding_dimensions: number | null
      metadata: ColumnType<unknown, string>
      created_at: Date
      updated_at: Date
    }
  }
}
