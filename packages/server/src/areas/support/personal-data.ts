import type { PersonalData } from "../../kernel/personal-data.ts"

const tenant = { organization: "organization_id" }

export const personalData: PersonalData = {
  tables: [
    {
      table: "support.messages",
      tenant,
      match: { ids: ["author_id"], through: { column: "session_id", table: "support.chats", key: "id" } },
      erasure: "delete",
    },
    {
      table: "support.chats",
      tenant,
      match: { ids: ["contact_id"], emails: ["contact_email"] },
      erasure: "delete",
      corrects: { name: "contact_name", email: "contact_email" },
    },
    {
      table: "support.comments",
      tenant,
      match: { ids: ["author_id"], through: { column: "ticket_id", table: "support.tickets", key: "id" } },
      erasure: "delete",
    },
    {
      table: "support.tickets",
      tenant,
      match: { ids: ["requester_id"], emails: ["requester_email"] },
      erasure: "delete",
      corrects: { name: "requester_name", email: "requester_email" },
    },
  ],
}
