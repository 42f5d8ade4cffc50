// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../kernel/db/tables.gen.ts" {
  interface Tables {
    "core.account_factors": {
      id: string
      user_id: string
      friendly_name: string
      status: string
      secret: string
      last_used_step: number | null
      created_at: Date
    }
    "core.account_recovery_codes": {
      user_id: string
      code_hash: Buffer
    }
    "core.account_waiting": {
      id: string
      user_id: string
      token_hash: Buffer
      created_at: Date
      expires_at: Date
    }
    "core.api_keys": {
      id: string
      organization_id: string
      project_id: string | null
      type: string
      name: string
      prefix: string
      secret_hash: Buffer
      scopes: string[]
      read_only: boolean
      require_approval: boolean
      ip_allowlist: string[]
      created_by: string | null
      created_at: Date
      expires_at: Date | null
      last_used_at: Date | null
      rotated_from_id: string | null
      grace_expires_at: Date | null
      revoked_at: Date | null
      organization_reach: Generated<boolean>
    }
    "core.approvals": {
      id: string
      organization_id: string
      project_id: string | null
      key_id: string
      key_name: string
      operation: string
      method: string
      path: string
      summary: string
      request_digest: string
      sealed_request: string
      ip: string
      status: string
      requested_at: Date
      expires_at: Date
      decided_by: string | null
      decided_at: Date | null
      comment: string | null
      executing_since: Date | null
      result_status: number | null
      result_body: string | null
    }
    "core.audit_events": {
      tenant_id: string
      sequence: number
      id: string
      action: string
      occurred_at: Date
      outcome: string
      actor: ColumnType<unknown, string>
      targets: ColumnType<unknown, string>
      context: ColumnType<unknown, string>
      metadata: ColumnType<unknown, string>
      prev_hash: Buffer
      hash: Buffer
    }
    "core.audit_heads": {
      tenant_id: string
      sequence: number
      hash: Buffer
    }
    "core.hosts": {
      id: string
      name: string
      driver: string
      isolation: string
      memory_bytes: number
      memory_reserved_bytes: number
      workloads_max: number
      workloads: number
      started_at: Date
      seen_at: Date
      lost_at: Date | null
      url: string | null
    }
    "core.installation": {
      name: string
      value: string
    }
    "core.invitations": {
      id: string
      organization_id: string
      email: string
      role: string
      project_ids: string[] | null
      token_hash: Buffer
      invited_by: string | null
      created_at: Date
      expires_at: Date
      accepted_at: Date | null
      revoked_at: Date | null
    }
    "core.key_notices": {
      key_id: string
      told_at: Date
    }
    "core.key_requests": {
      organization_id: string
      key_id: string
      day: string
      area: string
      status: number
      requests: number
    }
    "core.login_failures": {
      account: Buffer
      source: string
      failures: number
      locked_until: Date | null
      updated_at: Date
    }
    "core.login_sources": {
      user_id: string
      source: string
      seen_at: Date
    }
    "core.members": {
      organization_id: string
      user_id: string
      role: string
      project_ids: string[] | null
      joined_at: Date
    }
    "core.organizations": {
      id: string
      name: string
      slug: string
      plan: string
      requests_per_second: number | null
      created_at: Date
      deleted_at: Date | null
      key_max_lifetime_days: number | null
      key_allowed_addresses: Generated<string[]>
      key_read_only: Generated<boolean>
      key_require_approval: Generated<boolean>
    }
    "core.password_resets": {
      id: string
      account: Buffer
      source: string
      email: string
      token_hash: Buffer | null
      is_open: boolean
      created_at: Date
      expires_at: Date
    }
    "core.projects": {
      id: string
      organization_id: string
      name: string
      slug: string
      region: string
      created_at: Date
      deleted_at: Date | null
    }
    "core.sessions": {
      id: string
      user_id: string
      token_hash: Buffer
      ip: string | null
      user_agent: string | null
      created_at: Date
      authenticated_at: Date
      last_used_at: Date
      expires_at: Date
    }
    "core.signups": {
      id: string
      account: Buffer
      source: string
      email: string
      name: string
      organization_name: string
      password_hash: string | null
      token_hash: Buffer | null
      invitation_hash: Buffer | null
      attempts: number
      created_at: Date
      expires_at: Date
    }
    "core.usage": {
      organization_id: string
      project_id: string
      key_id: string
      metric: string
      day: string
      quantity: number
    }
    "core.users": {
      id: string
      email: string
      name: string
      password_hash: string
      failed_logins: Generated<number>
      locked_until: Date | null
      created_at: Date
      mfa_enabled: Generated<boolean>
    }
  }
}
