import { areas, page, pageOf } from "@svc/contract"
import type { Call, Principal } from "../../kernel/call.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { checkStepUp } from "../accounts/step-up.ts"
import type { ApprovalService } from "./service.ts"
import { type ApprovalRecord, approvalStore } from "./store.ts"

const DECIDERS = new Set(["owner", "admin"])

const checkDecides = ({ principal }: Call) => {
  if (!DECIDERS.has(principal.role ?? "")) throw fault("role_insufficient", { roles: "owner or admin" })
}

/** A person sees the approvals of the organization, a restricted one those of their projects; a key its own. */
const sees = ({ type, id, projectIds }: Principal, row: ApprovalRecord): boolean =>
  type === "key" ? row.key_id === id : (projectIds?.has(row.project_id ?? "") ?? true)

const getApproval = async ({ db, organization, principal }: Call, id: string): Promise<ApprovalRecord> => {
  const row = await approvalStore(db).find(organization.id, id)
  if (!row || !sees(principal, row)) throw fault("approval_not_found")
  return row
}

type Decision = "approved" | "rejected" | "cancelled"

const decide = async (call: Call, row: ApprovalRecord, decision: Decision, comment?: string) => {
  const lapsed = row.status === "pending" && row.expires_at <= call.now
  if (row.status !== "pending" || lapsed) {
    throw fault("approval_already_decided", { decision: lapsed ? "expired" : row.status })
  }
  const moved = await approvalStore(call.db).move(row.id, "pending", {
    status: decision,
    decided_at: call.now,
    decided_by: call.principal.type === "session" ? call.principal.id : null,
    comment: comment ?? null,
  })
  // Another request decided first.
  if (!moved) throw fault("approval_already_decided")
  call.describe({
    action: `approval_${decision}`,
    targets: [{ type: "approval", id: row.id, name: row.operation }],
    metadata: { request_digest: row.request_digest },
  })
}

interface Needs {
  readonly approvals: ApprovalService
  /** Given late: the caller is made from the pipeline, which needs these handlers. */
  readonly inProcess: () => InProcessCaller
}

export const approvalsHandlers = implement(areas.approvals, ({ approvals, inProcess }: Needs) => {
  const show = async (call: Call, id: string) => approvals.toApproval(await getApproval(call, id), call.now)

  return {
    async list(input, { db, organization, principal, now }) {
      const listed = await approvalStore(db).list(organization.id, {
        keyId: principal.type === "key" ? principal.id : undefined,
        projectIds: principal.projectIds,
        status: input.status,
        ...pageOf(input),
      })
      const rows = await Promise.all(listed.rows.map(row => approvals.toApproval(row, now)))
      return page({ rows, total: listed.total }, input)
    },

    get: ({ id }, call) => show(call, id),

    // The decision must be committed before the execution starts, and stand even if that fails.
    approve: async ({ id, comment }, call) => {
      checkDecides(call)
      checkStepUp(call)
      const row = await getApproval(call, id)
      await decide(call, row, "approved", comment)
      await approvals.execute(row.id, inProcess(), call.now.getTime())
      return show(call, id)
    },

    async reject({ id, comment }, call) {
      checkDecides(call)
      checkStepUp(call)
      await decide(call, await getApproval(call, id), "rejected", comment)
      return show(call, id)
    },

    // Takes no fresh password: nothing comes of it that the key could not ask for again.
    async cancel({ id }, call) {
      const row = await getApproval(call, id)
      if (call.principal.type === "session") checkDecides(call)
      await decide(call, row, "cancelled")
      return show(call, id)
    },
  }
})
