import { area, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

const ApprovalStatus = OneOf(
  ["pending", "approved", "executing", "executed", "failed", "rejected", "expired", "cancelled"],
  { description: "`approved` and `executing` last only while the stored request is run" },
)

export const Approval = T.Object({
  id: Id,
  status: ApprovalStatus,
  operation: T.String({ description: "Name of the operation: `databases.delete`" }),
  method: T.String({ description: "Method of the stored request" }),
  path: T.String({ description: "Path of the stored request" }),
  summary: T.String({ description: "What the request would do" }),
  detail: Nullable(
    T.String({
      description:
        "What makes the request high-risk where its operation alone does not, such as SQL statements; null otherwise",
    }),
  ),
  risk: T.Literal("high", { description: "Always `high`" }),
  request_digest: T.String({ description: "sha256 of the request, so that the approver can compare" }),
  requested_by: T.Object(
    { type: T.Literal("api_key", { description: "Always `api_key`" }), key_id: Id, name: T.String() },
    { description: "The key that made the request" },
  ),
  project_id: Nullable(Id, {
    description: "Project that the request acts in; null for the whole organization",
  }),
  requested_at: Time,
  expires_at: Time,
  decided_by: Nullable(T.Object({ id: Id, email: T.String() }), {
    description: "Person who decided; null until then",
  }),
  decided_at: Nullable(Time, { description: "RFC 3339 time in UTC of the decision; null until then" }),
  comment: Nullable(T.String(), {
    description: "What the person wrote about the decision; null for nothing",
  }),
  result: Nullable(
    T.Object({
      status: T.Integer({ description: "HTTP status of the reply" }),
      body: T.Unknown({ description: "Body of the reply" }),
    }),
    { description: "Reply of the stored request; null until it has run" },
  ),
})

/** Reply of an operation that waits for approval: status 202, `Location` of the approval, `Retry-After`. */
export const PendingApproval = T.Object({ status: T.Literal("pending_approval"), approval: Approval })

const ApprovalId = T.Object({ id: Id })
const Decision = T.Object({
  comment: T.Optional(
    T.String({ maxLength: 1000, description: "Reason, shown to whoever made the request" }),
  ),
})

export const approvals = area(
  "approvals",
  {
    title: "Approvals",
    summary: "High-risk operations of a `require_approval` key wait here for a person's decision",
    project: "none",
    belongs: "caller",
  },
  {
    list: {
      id: "listApprovals",
      http: "GET /v1/approvals",
      summary: "List approvals; a key sees its own requests",
      scope: "any",
      effect: "read",
      extension: true,
      query: T.Object({ ...pageQuery, status: T.Optional(ApprovalStatus) }),
      replies: { 200: Page(Approval) },
      faults: ["role_insufficient"],
    },
    get: {
      id: "getApproval",
      http: "GET /v1/approvals/{id}",
      summary: "Show an approval",
      scope: "any",
      effect: "read",
      extension: true,
      params: ApprovalId,
      replies: { 200: Approval },
      faults: ["approval_not_found", "role_insufficient"],
    },
    approve: {
      id: "approveApproval",
      http: "POST /v1/approvals/{id}/approve",
      summary: "Approve a request; the server then runs it once",
      scope: "session",
      effect: "write",
      transaction: "none",
      extension: true,
      params: ApprovalId,
      body: Decision,
      replies: { 200: Approval },
      faults: ["approval_not_found", "approval_already_decided", "role_insufficient", "step_up_required"],
      example: { comment: "checked with the team" },
    },
    reject: {
      id: "rejectApproval",
      http: "POST /v1/approvals/{id}/reject",
      summary: "Reject a request; it never runs",
      scope: "session",
      effect: "write",
      extension: true,
      params: ApprovalId,
      body: Decision,
      replies: { 200: Approval },
      faults: ["approval_not_found", "approval_already_decided", "role_insufficient", "step_up_required"],
    },
    cancel: {
      id: "cancelApproval",
      http: "POST /v1/approvals/{id}/cancel",
      summary: "Withdraw a request; for the key that sent it",
      scope: "any",
      effect: "write",
      extension: true,
      params: ApprovalId,
      replies: { 200: Approval },
      faults: ["approval_not_found", "approval_already_decided", "role_insufficient"],
    },
  },
)
