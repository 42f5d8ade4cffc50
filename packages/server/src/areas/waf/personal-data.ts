import type { PersonalData } from "../../kernel/personal-data.ts"

export const personalData: PersonalData = {
  tables: [],
  kept: [
    {
      table: "waf.events",
      reason:
        "addresses that sent what a rule or limit met, without a name; they end by themselves after 30 days",
    },
  ],
}
