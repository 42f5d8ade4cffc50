import { area, T } from "./dsl.ts"
import { Id } from "./types.ts"

const page = { reply: "bytes", replyTypes: ["text/html"] } as const
const params = T.Object({ id: Id })

/** Pages for people: no script runs on them. */
export const billingPages = area(
  "billingPages",
  {
    title: "Billing pages",
    summary: "The page that shows what a payment is for and how it is paid",
    project: "none",
    belongs: "caller",
    envelope: "page",
  },
  {
    checkout: {
      id: "showCheckout",
      http: "GET /billing/checkout/{id}",
      summary: "Show a payment: its amount, how it is paid, and whether the money came",
      scope: "public",
      effect: "read",
      extension: true,
      content: page,
      params,
      replies: { 200: T.String() },
      faults: ["resource_not_found"],
    },
    confirm: {
      id: "submitCheckoutConfirmation",
      http: "POST /billing/checkout/{id}",
      summary: "Confirm that the money came, as a signed-in owner of the installation",
      scope: "public",
      effect: "write",
      transaction: "none",
      idempotency: "none",
      extension: true,
      content: { request: "form", ...page },
      params,
      body: T.Object({ csrf: T.String({ maxLength: 1024 }) }),
      bodyBytesMax: 65_536,
      replies: { 303: null },
      faults: [
        "csrf_failed",
        "session_required",
        "resource_not_found",
        "role_insufficient",
        "invalid_state_transition",
      ],
    },
  },
)
