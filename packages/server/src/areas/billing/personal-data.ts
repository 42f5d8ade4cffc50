import type { PersonalData } from "../../kernel/personal-data.ts"

export const personalData: PersonalData = {
  tables: [
    {
      table: "billing.payments",
      tenant: { organization: "organization_id" },
      match: { emails: ["email"] },
      erasure: { keep: "payments and invoices are kept for as long as accounting rules ask" },
    },
  ],
}
