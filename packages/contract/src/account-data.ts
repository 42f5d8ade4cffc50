/** What is kept of a person, and its end. */
import { AccountFactor, Session, User } from "./account-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { RoleSchema } from "./identity.ts"
import { described, Id, Nullable, Time } from "./types.ts"

/** Entries of the person's audit trail in an export, the newest. */
export const EXPORTED_EVENTS_MAX = 1000

const Organization = T.Object({
  id: Id,
  name: T.String({ description: "Name of the organization" }),
  role: described(RoleSchema, "The person's role in it"),
})

const Key = T.Object({
  id: Id,
  organization_id: described(Id, "Organization that the key belongs to"),
  name: T.String({ description: "Name of the key" }),
  prefix: T.String({ description: "First characters of the secret" }),
  created_at: Time,
})

const Network = T.Object({
  network: T.String({ description: "An IPv4 address, or the first 64 bits of an IPv6 address" }),
  last_sign_in_at: described(Time, "RFC 3339 time in UTC of the last sign-in from there"),
})

const Event = T.Object({
  action: T.String({ description: "What happened" }),
  outcome: T.String({ description: "`success`, `failure`, or `intent` for what had begun" }),
  occurred_at: described(Time, "RFC 3339 time in UTC when it happened"),
  ip: Nullable(T.String(), { description: "Address that it came from; null when it is not known" }),
  user_agent: Nullable(T.String(), { description: "Browser or program; null when it named none" }),
})

export const accountDataOperations = {
  exportData: {
    id: "accountExport",
    action: "data_export",
    http: "GET /v1/account/export",
    summary: "Export what is kept of the signed-in person",
    description: `Needs a sign-in in the last 15 minutes. Has no secret. What belongs to organizations is not in it: the owners export that. Of the audit trail of the account it has the newest ${EXPORTED_EVENTS_MAX} entries.`,
    scope: "session",
    effect: "read",
    extension: true,
    replies: {
      200: T.Object({
        exported_at: described(Time, "RFC 3339 time in UTC of this export"),
        user: described(User, "The person"),
        sessions: T.Array(Session, { description: "Active sessions, most recently used first" }),
        factors: T.Array(AccountFactor, { description: "Second factors, oldest first" }),
        networks: T.Array(Network, {
          description: "Networks of sign-ins in the last 180 days, newest first",
        }),
        organizations: T.Array(Organization, { description: "Organizations that the person belongs to" }),
        keys: T.Array(Key, { description: "Keys that the person created, newest first" }),
        events: T.Array(Event, { description: "Audit trail of the account, newest first" }),
      }),
    },
    faults: ["step_up_required"],
  },
  delete: {
    id: "accountDelete",
    action: "data_erasure",
    http: "DELETE /v1/account",
    summary: "Delete the account of the signed-in person",
    description:
      "Needs a sign-in in the last 15 minutes, and that the person belongs to no organization: leave them, or delete those that are yours alone. It cannot be undone. All sessions end, and what was sealed for the person can be read no more. The audit trail of the account stays, as evidence.",
    scope: "session",
    effect: "destroy",
    extension: true,
    replies: { 204: null },
    faults: ["step_up_required", "conflict"],
  },
} as const satisfies Record<string, OperationSpec>
