import { gdprOperations } from "./compliance-gdpr.ts"
import { area, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Page, Time } from "./types.ts"

export const AUDIT_LIMIT_DEFAULT = 100
export const AUDIT_LIMIT_MAX = 1_000

const Hash = (description: string) => T.String({ description })

const AuditTarget = T.Object({
  type: T.String({ description: "Kind of thing, such as `api_key`" }),
  id: T.String(),
  name: T.Optional(T.String()),
})

const AuditEvent = T.Object({
  id: Id,
  sequence: T.Integer({
    description: "Number in the chain of the organization, counted from 1 without gaps",
  }),
  action: T.String({ description: "What was done, such as `api_key_created` or the name of an operation" }),
  occurred_at: Time,
  outcome: OneOf(["intent", "success", "failure"], {
    description:
      "`intent` is written before an effect outside the database; the result follows as an event of its own",
  }),
  actor: T.Object(
    {
      type: T.String({ description: "`user`, `api_key`, `end_user` or `system`" }),
      id: T.String(),
      name: T.String(),
    },
    { description: "Who did it" },
  ),
  targets: T.Array(AuditTarget, { description: "What it was done to" }),
  context: T.Record(T.String(), T.Unknown(), {
    description: "`ip`, `user_agent`, `request_id`, `key_id` and `project_id` of the request",
  }),
  metadata: T.Record(T.String(), T.Unknown(), {
    description: "Details of the action; `count` where one event stands for several of a kind",
  }),
  prev_hash: Hash("Hash of the event before, in hexadecimal; empty for the first"),
  hash: Hash("SHA-256 of `prev_hash` as bytes and the event as canonical JSON, in hexadecimal"),
})

const filter = {
  action: T.Optional(T.String({ minLength: 1, maxLength: 200, description: "Only events of this action" })),
  from: T.Optional(T.String({ format: "date-time", description: "Only events at this time or later" })),
  to: T.Optional(T.String({ format: "date-time", description: "Only events before this time" })),
}

const Check = T.Object({
  id: T.String({ description: "Name of the check, such as `audit_chain`" }),
  category: OneOf(["encryption", "audit", "access_control", "privacy"], { description: "What it is about" }),
  name: T.String(),
  status: OneOf(["pass", "warn", "fail", "not_applicable"], {
    description: "`not_applicable`: there is nothing to check, and it does not count",
  }),
  severity: OneOf(["low", "medium", "high", "critical"], { description: "How bad a failure is" }),
  weight: T.Integer({ description: "Its share in the score" }),
  message: T.String({ description: "What was found" }),
  remedy: Nullable(T.String(), { description: "How to mend it; null where nothing has to be" }),
  failing_entities: T.Array(
    T.Object({ type: T.String({ description: "Kind of thing, such as `api_key`" }), id: T.String() }),
    { description: "What fails, at most 100" },
  ),
  last_run_at: Time,
})

export const compliance = area(
  "compliance",
  {
    title: "Compliance",
    summary:
      "The audit log and its proof, requests of people about their data, and checks of how things are secured",
    project: "none",
    belongs: "organization",
  },
  {
    queryAudit: {
      id: "queryAuditLog",
      http: "GET /v1/compliance/audit",
      summary: "Query the audit log of the organization, newest first",
      description:
        "The organization is that of the caller. Sign-ins and other events of a person's account are in a log of that person.",
      scope: "compliance:read",
      effect: "read",
      query: T.Object({
        ...filter,
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: AUDIT_LIMIT_MAX,
            default: AUDIT_LIMIT_DEFAULT,
            description: "Largest number of events in the reply",
          }),
        ),
        offset: T.Optional(
          T.Integer({ minimum: 0, maximum: 1_000_000, default: 0, description: "Number of events to skip" }),
        ),
      }),
      replies: { 200: Page(AuditEvent) },
      faults: ["invalid_parameter"],
    },
    exportAudit: {
      id: "exportAuditLog",
      http: "GET /v1/compliance/audit/export",
      summary: "Download the audit log of the organization, oldest first",
      description:
        "JSON lines, or CSV with `format=csv`. A line of JSON is `prev_hash` and `hash` followed by the fields that were hashed, " +
        "as canonical JSON, so that a short script can check the chain. The download is an event of the log itself.",
      scope: "compliance:read",
      effect: "read",
      content: { reply: "bytes", replyTypes: ["application/x-ndjson", "text/csv"] },
      query: T.Object({
        ...filter,
        format: T.Optional(OneOf(["jsonl", "csv"], { default: "jsonl", description: "Form of the file" })),
      }),
      replies: { 200: T.Unknown() },
      faults: ["invalid_parameter"],
    },
    verifyAudit: {
      id: "verifyAuditLog",
      http: "GET /v1/compliance/audit/verify",
      summary: "Verify the hash chain of the organization's audit log",
      description: "Reads every event and computes its hash anew.",
      scope: "compliance:read",
      effect: "read",
      extension: true,
      replies: {
        200: T.Object({
          valid: T.Boolean({ description: "True if no event was changed, removed, moved or added" }),
          checked: T.Integer({ description: "Number of events before the first that fails" }),
          head: T.Object(
            {
              sequence: T.Integer({ description: "Number of the last event; 0 before the first" }),
              hash: Hash(
                "Its hash in hexadecimal. Kept elsewhere, it proves later that nothing was rewritten",
              ),
            },
            { description: "End of the chain" },
          ),
          first_invalid: Nullable(T.Integer(), {
            description: "Number of the first event that fails; null when the chain is valid",
          }),
        }),
      },
    },
    status: {
      id: "getComplianceStatus",
      http: "GET /v1/compliance/status",
      summary: "Check how the organization and the installation are secured",
      description:
        "Each check looks at what is configured and stored now. The chain of the audit log is verified at most every five minutes.",
      scope: "compliance:read",
      effect: "read",
      replies: {
        200: T.Object({
          score: T.Integer({ description: "Weight of the checks that pass, in percent of those that apply" }),
          status: OneOf(["compliant", "attention", "non_compliant"], {
            description: "`attention`: a check warns; `non_compliant`: a check fails",
          }),
          checked_at: Time,
          checks: T.Array(Check, { description: "All checks" }),
        }),
      },
    },
    ...gdprOperations,
  },
)
