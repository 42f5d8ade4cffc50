import { areas, page } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { fault } from "../../kernel/fault.ts"
import { implement, outsideTransaction } from "../../kernel/implement.ts"
import { checkStepUp } from "../accounts/step-up.ts"
import type { ApprovalService } from "./service.ts"
import { type ApprovalRecord, approvalStore } from "./store.ts"

const DECIDERS = new Set(["owner", "admin"])

const checkMayDecide = (call: Call) => {
  if (!DECIDERS.has(call.principal.role ?? "")) throw fault("role_insufficient", { roles: "owner or admin" })
  checkStepUp(call)
}

/** A person sees all of the organization's approvals, a key those it asked for. */
const getApproval = async ({ db, organization, principal }: Call, id: string): Promise<ApprovalRecord> => {
  const row = await approvalStore(db).find(organization.id, id)
  if (!row || (principal.type === "key" && row.key_id !== principal.id)) throw fault("approval_not_found")
  return row
}

const checkOpen = (row: ApprovalRecord, now: Date) => {
  if (row.status !== "pending" || row.expires_at <= now) throw fault("approval_already_decided")
}

interface Needs {
  readonly approvals: ApprovalService
  /** Given late: the caller is made from the pipeline, which needs these handlers. */
  readonly inProcess: () => InProcessCaller
}

export const approvalsHandlers = implement(areas.approvals, ({ approvals, inProcess }: Needs) => {
  const decide = async (
    call: Call,
    id: string,
    status: "approved" | "rejected" | "cancelled",
    comment?: string,
  ) => {
    checkOpen(await getApproval(call, id), call.now)
    const moved = await approvalStore(call.db).move(id, "pending", {
      status,
      decided_at: call.now,
      decided_by: call.principal.type === "session" ? call.principal.id : null,
      comment: comment ?? null,
    })
    if (!moved) throw fault("approval_already_decided")
    call.describe({
      action: `approval_${status}`,
      targets: [{ type: "approval", id, name: moved.operation }],
      metadata: { request_digest: moved.request_digest },
    })
  }

  const show = async (call: Call, id: string) => approvals.toApproval(await getApproval(call, id), call.now)

  return {
    async list(input, { db, organization, principal, now }) {
      const listed = await approvalStore(db).list(organization.id, {
        keyId: principal.type === "key" ? principal.id : undefined,
        status: input.status,
        limit: input.limit ?? 50,
        offset: input.offset ?? 0,
      })
      return page(
        { rows: listed.rows.map(row => approvals.toApproval(row, now)), total: listed.total },
        input,
      )
    },

    get: ({ id }, call) => show(call, id),

    // The decision must be committed before the execution starts, and stand even if that fails.
    approve: outsideTransaction(async ({ id, comment }, call) => {
      checkMayDecide(call)
      await decide(call, id, "approved", comment)
      await approvals.execute(id, inProcess(), call.now.getTime())
      return show(call, id)
    }),

    async reject({ id, comment }, call) {
      checkMayDecide(call)
      await decide(call, id, "rejected", comment)
      return show(call, id)
    },

    async cancel({ id }, call) {
      const row = await getApproval(call, id)
      if (call.principal.type === "session" && !DECIDERS.has(call.principal.role ?? ""))
        throw fault("approval_not_found")
      await decide(call, row.id, "cancelled")
      return show(call, id)
    },
  }
})
