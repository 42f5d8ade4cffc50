/** Agreements, overage, the spending cap and what an organization tells the operator. */
import { BILLING_AMOUNT_MICROS_MAX, Micros, TenantParam } from "./billing-fields.ts"
import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

const ModuleParam = T.Object({
  tenant_id: Id,
  module: T.String({
    minLength: 1,
    maxLength: 64,
    pattern: "^[a-z][a-z0-9-]*$",
    description: "Service, as the catalog names it",
  }),
})

const AGREEMENT_STATUSES = ["none", "active", "disabled"] as const
export type AgreementStatus = (typeof AGREEMENT_STATUSES)[number]
const Status = OneOf(AGREEMENT_STATUSES, { description: "`none`: nobody has agreed yet" })

const Agreement = T.Object({
  tenant_id: Id,
  module: T.String({ description: "Service, or `infrastructure`" }),
  status: Status,
  terms_version: Nullable(T.String(), { description: "Version of the terms that was agreed to; null: none" }),
  accepted_at: Nullable(Time, { description: "When somebody agreed; null: nobody has" }),
  accepted_by: Nullable(T.String(), { description: "Key or person that agreed; null: nobody has" }),
  disabled_at: Nullable(Time, { description: "When it was ended; null: it was not" }),
  autodebit: T.Object(
    {
      enabled: T.Boolean({
        description: "Whether use of the service is charged to the credit as it happens",
      }),
      since: Nullable(Time, { description: "Use before is not charged this way; null: it is off" }),
    },
    { description: "Whether use is charged to the credit as it happens" },
  ),
})

const Autodebit = T.Object({
  autodebit: T.Optional(
    T.Boolean({ default: false, description: "Also charge use to the credit as it happens, from now on" }),
  ),
})

const read = { scope: "billing:read", effect: "read" } as const
const write = { scope: "billing:write", effect: "write" } as const
const operator = { scope: "admin:full", belongs: "installation", extension: true } as const

export const agreementOperations = {
  agreements: {
    ...read,
    extension: true,
    id: "listAgreements",
    http: "GET /v1/billing/agreements/{tenant_id}",
    summary: "List the agreements of the organization, one for each service and one for the infrastructure",
    params: TenantParam,
    replies: { 200: T.Object({ agreements: T.Array(Agreement, { description: "By name" }) }) },
  },
  infraAgreement: {
    ...read,
    id: "getInfraAgreement",
    http: "GET /v1/billing/infra-agreement/{tenant_id}",
    summary: "Show whether the organization agreed to the terms for infrastructure",
    params: TenantParam,
    replies: { 200: Agreement },
  },
  enableInfraAgreement: {
    ...write,
    extension: true,
    id: "enableInfraAgreement",
    http: "POST /v1/billing/infra-agreement/{tenant_id}/enable",
    summary: "Record that the organization agrees to the terms for infrastructure",
    description:
      "With `autodebit` the use of databases, storage, network, builds and machines is charged to the credit.",
    params: TenantParam,
    body: Autodebit,
    replies: { 200: Agreement },
    example: { autodebit: true },
  },
  disableInfraAgreement: {
    ...write,
    id: "disableInfraAgreement",
    http: "POST /v1/billing/infra-agreement/{tenant_id}/disable",
    summary: "Record that the organization no longer agrees to the terms for infrastructure",
    description: "Its automatic charges end too. What was charged stays.",
    idempotency: "natural",
    params: TenantParam,
    replies: { 200: Agreement },
  },
  moduleAgreement: {
    ...read,
    id: "getModuleAgreement",
    http: "GET /v1/billing/module-agreement/{tenant_id}/{module}",
    summary: "Show whether the organization agreed to the terms of a service",
    params: ModuleParam,
    replies: { 200: Agreement },
    faults: ["agreement_not_found"],
  },
  enableModuleAgreement: {
    ...write,
    extension: true,
    id: "enableModuleAgreement",
    http: "POST /v1/billing/module-agreement/{tenant_id}/{module}/enable",
    summary: "Record that the organization agrees to the terms of a service",
    params: ModuleParam,
    body: Autodebit,
    replies: { 200: Agreement },
    faults: ["agreement_not_found"],
    example: { autodebit: false },
  },
  setupModuleAutodebit: {
    ...write,
    id: "setupModuleAutodebit",
    http: "POST /v1/billing/module-agreement/{tenant_id}/{module}/autodebit",
    summary: "Agree to the terms of a service and charge its use to the credit as it happens",
    description: "Use of this month before the call is not charged this way.",
    idempotency: "natural",
    params: ModuleParam,
    replies: { 200: Agreement },
    faults: ["agreement_not_found"],
  },
  disableModuleAgreement: {
    ...write,
    id: "disableModuleAgreement",
    http: "POST /v1/billing/module-agreement/{tenant_id}/{module}/disable",
    summary: "Record that the organization no longer agrees to the terms of a service",
    description: "Its automatic charges end too. What was charged stays.",
    idempotency: "natural",
    params: ModuleParam,
    replies: { 200: Agreement },
    faults: ["agreement_not_found"],
  },
  toggleOverage: {
    ...write,
    id: "toggleOverage",
    http: "POST /v1/billing/overage/{tenant_id}",
    summary: "Decide whether use goes on when the credit is used up, and how much may be owed",
    description:
      "What is owed is paid from the next credit. Without a limit it is the most that the operator allows.",
    idempotency: "natural",
    params: TenantParam,
    body: T.Object({
      enabled: T.Boolean({ description: "Whether use goes on beyond the credit" }),
      limit_micros: T.Optional(
        T.Integer({
          minimum: 1,
          maximum: BILLING_AMOUNT_MICROS_MAX,
          description: "The most that may be owed, in millionths of the currency",
        }),
      ),
    }),
    replies: {
      200: T.Object({
        overage_enabled: T.Boolean({ description: "Whether use goes on beyond the credit" }),
        limit_micros: Nullable(Micros("The most that may be owed"), { description: "Null: nothing" }),
        used_micros: Micros("What is owed now"),
      }),
    },
    faults: ["invalid_amount"],
    example: { enabled: true, limit_micros: 1_000_000 },
  },
} as const

const Cap = T.Object({
  cap_micros: Nullable(Micros("The most that a month may cost"), { description: "Null: there is no cap" }),
  action: OneOf(["stop", "notify"], {
    description: "`stop`: what would cost more is refused with 402; `notify`: it is told only",
  }),
  spent_micros: Micros("Charged this month"),
})

export const capOperations = {
  spendingCap: {
    ...read,
    extension: true,
    id: "getSpendingCap",
    http: "GET /v1/billing/spending-cap/{tenant_id}",
    summary: "Show the most that a month may cost",
    params: TenantParam,
    replies: { 200: Cap },
  },
  setSpendingCap: {
    ...write,
    extension: true,
    id: "setSpendingCap",
    http: "PUT /v1/billing/spending-cap/{tenant_id}",
    summary: "Set the most that a month may cost",
    description:
      "It is checked before anything is charged, together with what is under way, so a month never costs more. Months begin at 00:00 UTC.",
    idempotency: "natural",
    params: TenantParam,
    body: T.Object({
      cap_micros: T.Integer({
        minimum: 0,
        maximum: BILLING_AMOUNT_MICROS_MAX,
        description: "In millionths of the currency",
      }),
      action: T.Optional(
        OneOf(["stop", "notify"], { default: "stop", description: "What happens at the cap" }),
      ),
    }),
    replies: { 200: Cap },
    example: { cap_micros: 100_000_000 },
  },
  removeSpendingCap: {
    scope: "billing:write",
    effect: "destroy",
    extension: true,
    id: "removeSpendingCap",
    http: "DELETE /v1/billing/spending-cap/{tenant_id}",
    summary: "Remove the cap: a month may cost anything",
    params: TenantParam,
    replies: { 204: null },
  },
} as const

const Glitch = T.Object({
  enabled: T.Boolean({ description: "Whether the operator sees how many requests failed, and of which key" }),
  agreement_status: Status,
  accepted_at: Nullable(Time, { description: "When somebody agreed; null: nobody has" }),
})

export const tellingOperations = {
  glitchTracker: {
    ...read,
    id: "getGlitchTrackerStatus",
    http: "GET /v1/billing/glitch-tracker",
    summary: "Show whether the organization agrees that the operator sees its failed requests",
    replies: { 200: Glitch },
  },
  enableGlitchTracker: {
    ...write,
    id: "enableGlitchTracker",
    http: "POST /v1/billing/glitch-tracker/enable",
    summary: "Record that the organization agrees that the operator sees its failed requests",
    description: "The operator sees their number by day, project and key, and nothing of what they were.",
    idempotency: "natural",
    replies: { 200: Glitch },
  },
  disableGlitchTracker: {
    ...write,
    id: "disableGlitchTracker",
    http: "POST /v1/billing/glitch-tracker/disable",
    summary: "Record that the operator may no longer see the organization's failed requests",
    idempotency: "natural",
    replies: { 200: Glitch },
  },
  glitches: {
    ...operator,
    id: "listGlitches",
    http: "GET /v1/billing/glitch-tracker/requests",
    summary: "List failed requests of organizations that agreed to it; for operators of the installation",
    description: "Of the last 31 days, by day, project and key; the newest first.",
    effect: "read",
    query: PageQuery,
    replies: {
      200: Page(
        T.Object({
          organization_id: Id,
          day: T.String({ format: "date", description: "Day in UTC" }),
          project_id: Nullable(Id, { description: "Null: the organization as a whole" }),
          key_id: Nullable(Id, { description: "Null: a person" }),
          failed_requests: T.Integer({ description: "Requests with a reply of status 400 or more" }),
        }),
      ),
    },
    faults: ["role_insufficient"],
  },
  cancellationFeedback: {
    ...write,
    id: "submitCancellationFeedback",
    http: "POST /v1/billing/feedback/cancellation",
    summary: "Tell the operator why the organization leaves",
    body: T.Object({
      tenant_id: described(Id, "The caller's own organization"),
      reason: T.String({ minLength: 1, maxLength: 200, description: "Why, in few words" }),
      comment: T.Optional(T.String({ maxLength: 4_000, default: "", description: "What else to say" })),
      would_return: T.Optional(
        Nullable(T.Boolean(), { description: "Whether it may come back; null: it does not say" }),
      ),
    }),
    replies: { 200: T.Object({ id: Id }) },
    faults: ["tenant_mismatch"],
    example: {
      tenant_id: "0198c8b6-4a7e-7d3a-9a51-0123456789ab",
      reason: "too expensive",
      would_return: true,
    },
  },
  feedback: {
    ...operator,
    id: "listCancellationFeedback",
    http: "GET /v1/billing/feedback",
    summary: "List why organizations left; for operators of the installation",
    effect: "read",
    query: PageQuery,
    replies: {
      200: Page(
        T.Object({
          id: Id,
          organization_id: Id,
          reason: T.String({ description: "Why, in few words" }),
          comment: T.String({ description: "What else was said" }),
          would_return: Nullable(T.Boolean(), { description: "Null: it did not say" }),
          created_at: Time,
        }),
      ),
    },
    faults: ["role_insufficient"],
  },
} as const
