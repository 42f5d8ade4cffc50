import type { Reply } from "@svc/contract"
import type { Exchange, Stage } from "../exchange.ts"
import { fault } from "../fault.ts"
import type { Approvals } from "../needs.ts"

const judged = async (approvals: Approvals, exchange: Exchange): Promise<Reply | undefined> => {
  const { bound, input, principal, organization, project, incoming } = exchange
  if (!bound.judge || !organization) return undefined
  const header = (name: string) => incoming.header(name)
  const verdict = await bound.judge(input, { principal, organization, project, header })
  return verdict && approvals.request(exchange, verdict.detail)
}

/** A high-risk operation of a `require_approval` key waits for a person (specification 5.6). */
export const approve =
  (approvals: Approvals): Stage =>
  exchange => {
    const { operation, principal, incoming } = exchange
    if (operation.risk === undefined || !principal.requireApproval || incoming.approvalId !== undefined)
      return undefined
    if (operation.envelope === "s3") throw fault("approval_not_possible")
    return operation.risk === "high" ? approvals.request(exchange) : judged(approvals, exchange)
  }
