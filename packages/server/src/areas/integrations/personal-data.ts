import type { PersonalData } from "../../kernel/personal-data.ts"

export const personalData: PersonalData = {
  tables: [],
  kept: [
    { table: "integrations.events", reason: "authors of commits, as the repository tells them to everybody" },
    { table: "integrations.credentials", reason: "the user name of the organization's own access" },
    { table: "integrations.installations", reason: "the account of the organization at the provider" },
  ],
}
