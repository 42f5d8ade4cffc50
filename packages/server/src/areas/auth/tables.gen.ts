// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "auth.factors": {
      id: string
      project_id: string
      organization_id: string
      user_id: string
      friendly_name: string
      status: string
      secret: string
      last_used_step: number | null
      created_at: Date
    }
    "auth.identities": {
      id: string
      project_id: string
      user_id: string
      provider: string
      issuer: string
      subject: string
      email: string | null
      created_at: Date
      last_used_at: Date
    }
    "auth.mails": {
      id: string
      organization_id: string
      project_id: string
      kind: string
      account: Buffer
      source: string
      email: string
      user_id: string | null
      token_hash: Buffer | null
      code_hash: Buffer | null
      tries: number
      redirect_to: string | null
      created_at: Date
      expires_at: Date
    }
    "auth.provider_sign_ins": {
      id: string
      project_id: string
      organization_id: string
      provider: string
      state_hash: Buffer | null
      code_hash: Buffer | null
      code_challenge: string
      redirect_to: string
      linking_user_id: string | null
      identity: string | null
      created_at: Date
      expires_at: Date
    }
    "auth.providers": {
      project_id: string
      name: string
      organization_id: string
      enabled: boolean
      client_id: string
      client_secret: string | null
      issuer: string
      scopes: string[]
      team_id: string | null
      key_id: string | null
      created_at: Date
      updated_at: Date
    }
    "auth.recovery_codes": {
      project_id: string
      user_id: string
      code_hash: Buffer
    }
    "auth.sessions": {
      id: string
      project_id: string
      user_id: string
      number: number
      numbered_at: Date
      level: string
      methods: string[]
      ip: string
      user_agent: string | null
      created_at: Date
      idle_until: Date
      expires_at: Date
    }
    "auth.settings": {
      project_id: string
      organization_id: string
      chosen: ColumnType<unknown, string>
      updated_at: Date
    }
    "auth.signing_keys": {
      project_id: string
      kid: string
      organization_id: string
      state: string
      public_key: ColumnType<unknown, string>
      private_key: string
      created_at: Date
      current_at: Date | null
      old_at: Date | null
    }
    "auth.sources": {
      project_id: string
      user_id: string
      source: string
      seen_at: Date
    }
    "auth.users": {
      id: string
      organization_id: string
      project_id: string
      email: string | null
      email_confirmed_at: Date | null
      password_hash: string | null
      signup_source: string | null
      user_metadata: ColumnType<unknown, string>
      app_metadata: ColumnType<unknown, string>
      banned_until: Date | null
      last_sign_in_at: Date | null
      created_at: Date
      updated_at: Date
      is_anonymous: Generated<boolean>
    }
    "auth.waiting": {
      id: string
      project_id: string
      user_id: string
      token_hash: Buffer
      source: string
      methods: string[]
      created_at: Date
      expires_at: Date
    }
  }
}
