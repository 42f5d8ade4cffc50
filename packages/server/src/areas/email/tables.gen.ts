// Made by `npm run gen` from the migrated database.
import type { ColumnType } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "email.attachments": {
      organization_id: string
      email_id: string
      position: number
      filename: string
      content_type: string
      content_id: string | null
      content: Buffer
    }
    "email.domains": {
      id: string
      organization_id: string
      domain: string
      return_path: string
      tracking_subdomain: string
      ownership_token: string
      dkim_selector: string
      dkim_public_key: string
      dkim_private_key: string
      status: string
      findings: ColumnType<unknown, string>
      ownership_proven: boolean
      checking_since: Date
      checks: number
      last_checked_at: Date | null
      next_check_at: Date | null
      verified_at: Date | null
      created_at: Date
    }
    "email.events": {
      id: string
      organization_id: string
      project_id: string | null
      email_id: string
      recipient_id: string
      message_id: string
      event: string
      recipient: string
      from_address: string
      subject: string
      template: string | null
      domain: string
      tags: ColumnType<unknown, string>
      details: ColumnType<unknown, string>
      created_at: Date
    }
    "email.messages": {
      id: string
      organization_id: string
      project_id: string | null
      message_id: string
      from_address: string
      from_name: string
      domain: string
      to_addresses: ColumnType<unknown, string>
      cc_addresses: ColumnType<unknown, string>
      reply_to: ColumnType<unknown, string | null>
      subject: string
      template: string | null
      html: string | null
      text: string | null
      headers: ColumnType<unknown, string>
      tags: ColumnType<unknown, string>
      bulk: boolean
      track_opens: boolean
      track_clicks: boolean
      scheduled_at: Date | null
      created_at: Date
    }
    "email.recipients": {
      id: string
      organization_id: string
      email_id: string
      position: number
      kind: string
      address: string
      status: string
      attempts: number
      last_error: string | null
      captured_at: Date | null
      updated_at: Date
    }
    "email.sends": {
      organization_id: string
      month: string
      shard: number
      recipients: number
    }
    "email.settings": {
      organization_id: string
      from_email: string | null
      from_name: string | null
      reply_to: string | null
      mode: string
      relay_host: string | null
      relay_port: number | null
      relay_security: string | null
      relay_username: string | null
      relay_password: string | null
      max_per_second: number
      own_domain_delivery_enabled: boolean
      enabled_at: Date | null
      paused_at: Date | null
      paused_reason: string | null
      default_domain_id: string | null
      track_opens: boolean
      track_clicks: boolean
      suppress_hard_bounce: boolean
      suppress_complaint: boolean
      updated_at: Date
    }
    "email.signing_keys": {
      organization_id: string
      secret: string
      created_at: Date
    }
    "email.suppression": {
      organization_id: string
      address: string
      reason: string
      origin: string
      source_email_id: string | null
      created_at: Date
    }
    "email.templates": {
      id: string
      organization_id: string
      name: string
      version: number
      subject: string
      html: string
      text: string | null
      mjml: string | null
      from_address: string | null
      reply_to: string | null
      bulk: boolean
      variables: ColumnType<unknown, string>
      created_at: Date
      updated_at: Date
      project_id: string | null
    }
  }
}
