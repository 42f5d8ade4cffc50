// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "encryption.keys": {
      tenant_id: string
      version: number
      state: string
      wrapped_key: string | null
      uses_reserved: number
      created_at: Date
    }
  }
}
