import type { PersonalData, PersonalTable } from "../../kernel/personal-data.ts"

const ofUser = (table: string, omits: readonly string[] = []): PersonalTable => ({
  table,
  tenant: { organization: "organization_id" },
  match: { ids: ["user_id"] },
  omits,
  erasure: "delete",
})

export const personalData: PersonalData = {
  tables: [
    ofUser("notifications.deliveries"),
    ofUser("notifications.entries"),
    ofUser("notifications.devices", ["target"]),
    ofUser("notifications.preferences"),
    ofUser("notifications.inboxes"),
  ],
}
