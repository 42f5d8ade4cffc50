/** Requests of people about their data, and consent. */
import { T } from "./dsl.ts"
import {
  atLeastOne,
  described,
  Email,
  eitherOr,
  Id,
  Nullable,
  OneOf,
  Page,
  PageQuery,
  Time,
} from "./types.ts"

export const CONSENT_HISTORY_MAX = 50

const Kind = OneOf(["access", "erasure", "rectification"], { description: "What the person asks for" })
const Status = OneOf(["pending", "in_progress", "completed", "rejected"], {
  description: "`completed` and `rejected` are final",
})
const SubjectType = OneOf(["end_user", "member"], {
  description: "`end_user`: a user of an application; `member`: a person of the organization",
})

const Subject = T.Object(
  {
    type: SubjectType,
    id: T.Optional(described(Id, "Id of the user or person")),
    email: T.Optional(described(Email, "Their address")),
  },
  { description: "Person whose data it is", ...eitherOr(atLeastOne("id", "email")) },
)

const OwnSubject = T.Optional(
  described(Subject, "Person whose data it is; the caller where a person calls and it is left out"),
)

const Text = (description: string) => T.String({ maxLength: 2_000, description })

const requestFields = {
  id: Id,
  kind: Kind,
  status: Status,
  subject: T.Object(
    {
      type: SubjectType,
      ids: T.Array(Id, { description: "Ids found for the person; empty once an erasure is completed" }),
      email: Nullable(T.String(), { description: "Address; null where none is known, or once it is erased" }),
      email_sha256: Nullable(T.String(), {
        description: "SHA-256 of the address in lower case, in hexadecimal; stays when the address is erased",
      }),
    },
    { description: "Person whose data it is" },
  ),
  details: Nullable(T.String(), { description: "What was asked, in words" }),
  note: Nullable(T.String(), { description: "Note of the last change of status" }),
  requested_by: T.Object(
    { type: T.String({ description: "`user` or `api_key`" }), id: T.String(), name: T.String() },
    { description: "Who entered the request" },
  ),
  received_at: Time,
  due_at: described(Time, "One month after it was received (GDPR, article 12)"),
  started_at: Nullable(Time, { description: "RFC 3339 time in UTC; null while it is pending" }),
  completed_at: Nullable(Time, {
    description: "RFC 3339 time in UTC; null until it is completed or rejected",
  }),
  report: T.Array(
    T.Object({
      table: T.String({ description: "Table of the platform" }),
      action: OneOf(["exported", "deleted", "replaced", "corrected", "kept"], {
        description: "What was done with the rows of the person",
      }),
      rows: T.Integer({ description: "Number of rows" }),
      reason: T.Optional(T.String({ description: "Why they are kept" })),
    }),
    { description: "What was done, by table" },
  ),
  failure: Nullable(T.String(), {
    description: "Why the last attempt failed, which is repeated; null where none failed",
  }),
  archive: Nullable(
    T.Object({
      download_url: T.String({ description: "Address of the archive; takes a key" }),
      bytes: T.Integer({ description: "Size" }),
      sha256: Nullable(T.String(), { description: "SHA-256 of the file in hexadecimal" }),
      expires_at: Time,
    }),
    { description: "ZIP file of a completed access request, for seven days; null where there is none" },
  ),
}

const Request = T.Object(requestFields)
const RequestId = T.Object({ id: Id })
const Tenant = T.Object({ tenant_id: Id })

const Answer = T.Object({
  request: described(Request, "The request that was made, and where it stands"),
  download_url: Nullable(T.String(), { description: "Address of the archive; null while it is made" }),
  expires_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when the archive is removed; null without one",
  }),
})

const reads = ["compliance:read", "billing:read"] as const
const writes = ["compliance:write", "billing:write"] as const

const consentFields = {
  marketing: T.Boolean({ description: "News and offers by mail" }),
  analytics: T.Boolean({ description: "Statistics of how the service is used" }),
  ai_training: T.Boolean({ description: "Contents may train models" }),
}
const Consents = T.Object(consentFields, { description: "What is consented to; nothing before it was asked" })
const Version = T.String({ minLength: 1, maxLength: 64, description: "Version of the policy that was shown" })

const Consent = T.Object({
  consents: Consents,
  policy_version: Nullable(Version, {
    description: "Version of the policy that was shown; null if not known",
  }),
  updated_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last change; null before the first",
  }),
  updated_by: Nullable(Id, { description: "Person or key that changed it; null before the first change" }),
  history: T.Array(
    T.Object({
      consents: Consents,
      policy_version: Nullable(Version, { description: "Version of the policy; null if not known" }),
      updated_at: Time,
      updated_by: Id,
    }),
    { description: `The last ${CONSENT_HISTORY_MAX} changes, the newest first` },
  ),
})

const ERASED =
  "A job deletes what the areas hold of the person. It is repeated until it is done, and tells by table what it deleted and what " +
  "it kept, with the reason. The request then keeps a hash of the address. Databases, buckets and other contents of the tenant " +
  "are not looked into. A member has to be removed from the organization first."

export const gdprOperations = {
  listRequests: {
    id: "listGdprRequests",
    http: "GET /v1/compliance/gdpr/requests",
    summary: "List the data-subject requests, newest first",
    scope: "compliance:read",
    effect: "read",
    query: PageQuery,
    replies: { 200: Page(Request) },
  },
  createRequest: {
    id: "createGdprRequest",
    http: "POST /v1/compliance/gdpr/requests",
    summary: "Enter a data-subject request",
    description: "Nothing happens before its status is set to `in_progress`.",
    scope: "compliance:write",
    effect: "write",
    action: "gdpr_request_created",
    body: T.Object({ kind: Kind, subject: Subject, details: T.Optional(Text("What was asked, in words")) }),
    replies: { 201: Request },
    faults: ["invalid_parameter"],
    example: { kind: "access", subject: { type: "end_user", email: "ada@example.com" } },
  },
  getRequest: {
    id: "getGdprRequest",
    http: "GET /v1/compliance/gdpr/requests/{id}",
    summary: "Read a data-subject request",
    scope: "compliance:read",
    effect: "read",
    params: RequestId,
    replies: { 200: Request },
    faults: ["gdpr_request_not_found"],
  },
  updateRequestStatus: {
    id: "updateGdprRequestStatus",
    http: "POST /v1/compliance/gdpr/requests/{id}/status",
    summary: "Move a data-subject request to its next status",
    description:
      "From `pending` to `in_progress`, and from there to `completed` or `rejected`. `in_progress` starts the work: the archive of an " +
      `access request is made, an erasure erases; both then complete the request. ${ERASED}`,
    scope: "compliance:write",
    effect: "write",
    risk: "high",
    action: "gdpr_request_updated",
    params: RequestId,
    body: T.Object({ status: Status, note: T.Optional(Text("Why, for the record")) }),
    replies: { 200: Request },
    faults: ["gdpr_request_not_found", "invalid_state_transition"],
    example: { status: "in_progress" },
  },
  downloadArchive: {
    id: "downloadGdprArchive",
    http: "GET /v1/compliance/gdpr/requests/{id}/archive",
    summary: "Download the archive of an access request",
    description:
      "A ZIP file with a file of JSON for each table that has rows of the person; without passwords and other secrets.",
    scope: writes,
    effect: "read",
    extension: true,
    content: { reply: "bytes", replyTypes: ["application/zip"] },
    params: RequestId,
    replies: { 200: T.Unknown() },
    faults: ["gdpr_request_not_found"],
  },
  gdprExport: {
    id: "gdprExport",
    http: "POST /v1/billing/gdpr/{tenant_id}/export",
    summary: "Collect what is stored of a person in an archive",
    description:
      "Enters an access request that is in progress at once. Repeated while that request or its archive is there, it returns the same one.",
    scope: writes,
    effect: "write",
    action: "data_export",
    params: Tenant,
    body: T.Object({ subject: OwnSubject }),
    replies: { 200: Answer },
    faults: ["invalid_parameter"],
    example: { subject: { type: "end_user", email: "ada@example.com" } },
  },
  gdprDelete: {
    id: "gdprDelete",
    http: "POST /v1/billing/gdpr/{tenant_id}/delete",
    summary: "Erase what is stored of a person",
    description: `Enters an erasure request that is in progress at once. ${ERASED}`,
    scope: writes,
    effect: "destroy",
    risk: "high",
    action: "data_erasure",
    params: Tenant,
    body: T.Object({ subject: OwnSubject }),
    replies: { 200: Answer },
    faults: ["invalid_parameter", "invalid_state_transition"],
    example: { subject: { type: "end_user", email: "ada@example.com" } },
  },
  gdprCorrect: {
    id: "gdprCorrect",
    http: "POST /v1/billing/gdpr/{tenant_id}/correct",
    summary: "Correct the name or address of a person",
    description:
      "Where tickets and chats have it. The address of a user of an application and the account of a member are changed by themselves, " +
      "because a new address has to be confirmed.",
    scope: writes,
    effect: "write",
    action: "data_correction",
    params: Tenant,
    body: T.Object({
      subject: OwnSubject,
      corrections: T.Array(
        T.Object({
          field: OneOf(["name", "email"], { description: "What is corrected" }),
          value: T.String({ minLength: 1, maxLength: 254, description: "What is right" }),
        }),
        { minItems: 1, maxItems: 10, description: "What to correct, in order" },
      ),
      reason: T.Optional(Text("Why, for the record")),
    }),
    replies: { 200: Answer },
    faults: ["invalid_parameter"],
    example: {
      subject: { type: "end_user", email: "ada@example.com" },
      corrections: [{ field: "name", value: "Ada Lovelace" }],
    },
  },
  getConsent: {
    id: "getGdprConsent",
    http: "GET /v1/billing/gdpr/{tenant_id}/consent",
    summary: "Read what the organization consented to, with its history",
    scope: reads,
    effect: "read",
    params: Tenant,
    replies: { 200: Consent },
  },
  updateConsent: {
    id: "updateGdprConsent",
    http: "POST /v1/billing/gdpr/{tenant_id}/consent",
    summary: "Give or withdraw consent",
    description: "What is left out stays as it was. Each change is kept.",
    scope: writes,
    effect: "write",
    action: "consent_changed",
    params: Tenant,
    body: T.Object({
      consents: T.Object(
        {
          marketing: T.Optional(consentFields.marketing),
          analytics: T.Optional(consentFields.analytics),
          ai_training: T.Optional(consentFields.ai_training),
        },
        { description: "What changes" },
      ),
      policy_version: T.Optional(Version),
    }),
    replies: { 200: Consent },
    example: { consents: { marketing: false, analytics: true }, policy_version: "2026-11" },
  },
} as const
