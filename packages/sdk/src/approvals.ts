import { type Approval, SvcError } from "./errors.ts"
import { isRecord, type ParsedResponse, requestIdOf } from "./reply.ts"

const POLL_SECONDS_DEFAULT = 5
const undecided: ReadonlySet<unknown> = new Set(["pending", "approved", "executing"])

/** The approval record of a reply that says that a person must decide first. */
export const pendingApproval = ({ status, body }: ParsedResponse): Approval | undefined => {
  if (status !== 202 || !isRecord(body)) return undefined
  // An operation can have a 202 of its own, so the status alone says nothing.
  const payload = isRecord(body.data) ? body.data : body
  return payload.status === "pending_approval" && isRecord(payload.approval)
    ? (payload.approval as Approval)
    : undefined
}

interface Wait {
  /** How often to ask, from the `Retry-After` of the 202. */
  readonly retryAfter: number | undefined
  readonly pause: (ms: number) => Promise<void>
  readonly find: (id: string) => Promise<Approval>
}

/** Polls until a person has decided; the platform lets an undecided approval lapse, so this ends. */
export const awaitDecision = async (
  pending: Approval,
  { retryAfter, pause, find }: Wait,
): Promise<Approval> => {
  let approval = pending
  while (undecided.has(approval.status)) {
    await pause((retryAfter ?? POLL_SECONDS_DEFAULT) * 1000)
    approval = await find(approval.id)
  }
  return approval
}

/** The reply that the approved request got when the platform ran it. Throws when it did not run. */
export const decidedAnswer = (
  { status, comment, result, id }: Approval,
  { headers }: ParsedResponse,
): ParsedResponse => {
  if (result) return { status: result.status, headers, body: result.body }
  const refused = status === "rejected"
  throw new SvcError({
    status: refused ? 403 : 409,
    code: `approval_${status}`,
    message: `approval ${id} is ${status}${comment ? `: ${comment}` : ""}`,
    requestId: requestIdOf(headers),
  })
}
