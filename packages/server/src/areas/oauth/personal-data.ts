import type { PersonalData } from "../../kernel/personal-data.ts"

const tenant = { organization: "organization_id" }

export const personalData: PersonalData = {
  tables: [
    { table: "oauth.authorizations", tenant, match: { ids: ["user_id"] }, erasure: "delete" },
    {
      table: "oauth.grants",
      tenant,
      match: { ids: ["user_id"] },
      erasure: { keep: "a connection ends with the membership; its keys refer to it" },
    },
  ],
}
