// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "ai_documents.documents": {
      project_id: string
      id: string
      format: string
      title: string
      version: number
      created_at: Date
      updated_at: Date
    }
    "ai_documents.versions": {
      project_id: string
      document_id: string
      version: number
      title: string
      format: string
      template: string | null
      bytes: number
      sha256: Buffer
      edits: number
      source: string
      tree: string
      created_at: Date
    }
  }
}
