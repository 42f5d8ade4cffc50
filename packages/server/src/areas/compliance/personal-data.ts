import type { PersonalData } from "../../kernel/personal-data.ts"

export const personalData: PersonalData = {
  tables: [],
  kept: [
    {
      table: "compliance.requests",
      reason: "evidence that requests were answered; an erased address is replaced by its hash",
    },
    { table: "compliance.consents", reason: "evidence of consent: names by id who gave it" },
  ],
}
