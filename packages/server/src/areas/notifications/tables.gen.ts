// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "notifications.dedupe_keys": {
      organization_id: string
      owner_id: string
      dedupe_key: string
      result: ColumnType<unknown, string>
      created_at: Date
    }
    "notifications.deliveries": {
      id: string
      organization_id: string
      user_id: string
      notification_id: string
      channel: string
      device_id: string | null
      status: string
      provider_status: number | null
      reason: string | null
      at: Date
    }
    "notifications.devices": {
      id: string
      organization_id: string
      user_id: string
      platform: string
      provider: string
      environment: string
      token_hash: Buffer
      token_hint: string
      target: string
      name: string | null
      locale: string | null
      last_success_at: Date | null
      invalidated_at: Date | null
      invalid_reason: string | null
      created_at: Date
      updated_at: Date
    }
    "notifications.entries": {
      organization_id: string
      user_id: string
      id: string
      seq: number
      project_id: string | null
      collapse_key: string | null
      in_app: boolean
      created_at: Date
      expires_at: Date | null
      read_at: Date | null
      seen_at: Date | null
      archived_at: Date | null
    }
    "notifications.inboxes": {
      organization_id: string
      user_id: string
      last_seq: number
    }
    "notifications.messages": {
      id: string
      organization_id: string
      project_id: string | null
      type: string | null
      category: string | null
      title: string
      body: string
      data: ColumnType<unknown, string>
      action_url: string | null
      priority: string
      collapse_key: string | null
      created_at: Date
      expires_at: Date | null
    }
    "notifications.preferences": {
      organization_id: string
      user_id: string
      preferences: ColumnType<unknown, string>
      updated_at: Date
    }
    "notifications.providers": {
      organization_id: string
      vapid_public_key: string
      vapid_private_key: string
      vapid_subject: string | null
      fcm: string | null
      apns: string | null
    }
  }
}
