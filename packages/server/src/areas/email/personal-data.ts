import type { PersonalData } from "../../kernel/personal-data.ts"

const tenant = { organization: "organization_id" }
const ofMail = (column: string) => ({ through: { column, table: "email.recipients", key: "email_id" } })

export const personalData: PersonalData = {
  tables: [
    { table: "email.events", tenant, match: { emails: ["recipient"] }, erasure: "delete" },
    { table: "email.attachments", tenant, match: ofMail("email_id"), omits: ["content"], erasure: "delete" },
    // Deletes its recipients too: what was written to one person is not kept for the others.
    { table: "email.messages", tenant, match: ofMail("id"), erasure: "delete" },
    { table: "email.recipients", tenant, match: { emails: ["address"] }, erasure: "delete" },
    {
      table: "email.suppression",
      tenant,
      match: { emails: ["address"] },
      erasure: { keep: "without it the address would be sent mail again" },
    },
  ],
  kept: [
    { table: "email.settings", reason: "the sender is the organization's own" },
    { table: "email.templates", reason: "the sender is the organization's own" },
  ],
}
