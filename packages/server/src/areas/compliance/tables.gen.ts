// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "compliance.consents": {
      id: string
      organization_id: string
      marketing: boolean
      analytics: boolean
      ai_training: boolean
      policy_version: string | null
      updated_by: string
      updated_at: Date
    }
    "compliance.requests": {
      id: string
      organization_id: string
      kind: string
      status: string
      subject_type: string
      subject_email: string | null
      subject_email_hash: Buffer | null
      subject_ids: string[]
      subject_emails: string[]
      details: string | null
      note: string | null
      requested_by: ColumnType<unknown, string>
      received_at: Date
      due_at: Date
      started_at: Date | null
      completed_at: Date | null
      report: ColumnType<unknown, string>
      failure: string | null
      archive_address: string | null
      archive_bytes: number | null
      archive_sha256: Buffer | null
      archive_expires_at: Date | null
    }
  }
}
