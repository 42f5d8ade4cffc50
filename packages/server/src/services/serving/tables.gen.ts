// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "serving.logs": {
      id: Generated<number>
      organization_id: string
      service_id: string
      instance_id: string
      at: Date
      stream: string
      message: string
    }
  }
}
