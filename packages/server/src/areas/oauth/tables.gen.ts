// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "oauth.authorizations": {
      id: string
      flow: string
      client_id: string
      scopes: string[]
      status: string
      created_at: Date
      expires_at: Date
      redirect_uri: string | null
      state: string | null
      code_challenge: string | null
      secret_hash: Buffer | null
      user_code: string | null
      poll_seconds: number | null
      polled_at: Date | null
      user_id: string | null
      organization_id: string | null
      project_id: string | null
      grant_id: string | null
    }
    "oauth.clients": {
      id: string
      name: string
      uri: string | null
      logo_uri: string | null
      redirect_uris: string[]
      grant_types: string[]
      auth_method: string
      secret_hash: Buffer | null
      scope: string | null
      created_at: Date
      fetched_at: Date | null
    }
    "oauth.grant_keys": {
      grant_id: string
      key_id: string
    }
    "oauth.grants": {
      id: string
      organization_id: string
      project_id: string
      user_id: string
      client_id: string
      name: string
      scopes: string[]
      created_at: Date
      expires_at: Date
      revoked_at: Date | null
      number: number
      numbered_at: Date
    }
  }
}
