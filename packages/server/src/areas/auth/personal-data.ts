import type { PersonalData, PersonalTable } from "../../kernel/personal-data.ts"

/** Tables of one user, whose rows have the project. */
const ofUser = (table: string): PersonalTable => ({
  table,
  tenant: { project: "project_id" },
  match: { ids: ["user_id"] },
  erasure: "delete",
})

export const personalData: PersonalData = {
  tables: [
    {
      table: "auth.mails",
      tenant: { organization: "organization_id" },
      match: { ids: ["user_id"], emails: ["email"] },
      erasure: "delete",
    },
    {
      table: "auth.identities",
      tenant: { project: "project_id" },
      match: { ids: ["user_id"], emails: ["email"] },
      erasure: "delete",
    },
    {
      table: "auth.provider_sign_ins",
      tenant: { project: "project_id" },
      match: { ids: ["linking_user_id"] },
      erasure: "delete",
    },
    ofUser("auth.waiting"),
    ofUser("auth.recovery_codes"),
    ofUser("auth.factors"),
    ofUser("auth.sources"),
    ofUser("auth.sessions"),
    {
      table: "auth.users",
      tenant: { organization: "organization_id" },
      match: { ids: ["id"], emails: ["email"] },
      identity: { id: "id", email: "email" },
      erasure: "delete",
    },
  ],
}
