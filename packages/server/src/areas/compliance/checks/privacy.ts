import type { Database } from "../../../kernel/db/database.ts"
import { requestStore } from "../requests-store.ts"
import type { Check } from "./check.ts"

export const privacyChecks = ({ database }: { readonly database: Database }): Check[] => [
  {
    ...{ id: "requests_answered", category: "privacy", severity: "high" },
    name: "Data-subject requests are answered in time",
    async look(organizationId, now) {
      const overdue = await requestStore(database.db).overdue(organizationId, now)
      if (overdue.length === 0) return { status: "pass", message: "No open request is past its date." }
      return {
        ...{ status: "fail", message: `${overdue.length} requests are past their date.` },
        remedy: "Work on them: `svc compliance list-requests` has their dates.",
        failing: overdue.map(({ id }) => ({ type: "gdpr_request", id })),
      }
    },
  },
]
