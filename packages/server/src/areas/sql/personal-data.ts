import type { PersonalData } from "../../kernel/personal-data.ts"

export const personalData: PersonalData = {
  tables: [],
  kept: [
    {
      table: "databases.query_log",
      reason: "roles and addresses of the tenant's own programs; ends by itself after some days",
    },
  ],
}
