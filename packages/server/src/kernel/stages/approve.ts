import type { Stage } from "../exchange.ts"
import type { Approvals } from "../needs.ts"

/** A high-risk operation of a `require_approval` key waits for a person (specification 5.6). */
export const approve =
  (approvals: Approvals): Stage =>
  exchange => {
    const { operation, principal, incoming } = exchange
    if (operation.risk !== "high" || !principal.requireApproval || incoming.approvalId !== undefined)
      return undefined
    return approvals.request(exchange)
  }
