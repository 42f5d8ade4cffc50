// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "webhooks.old_secrets": {
      organization_id: string
      webhook_id: string
      id: string
      secret: string
      signs_until: Date
    }
    "webhooks.webhooks": {
      id: string
      organization_id: string
      project_id: string | null
      url: string
      event_types: string[]
      description: string
      active: boolean
      secret: string
      secret_hint: string
      disabled_at: Date | null
      disabled_reason: string | null
      created_at: Date
      updated_at: Date
    }
  }
}
