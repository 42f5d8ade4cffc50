import { area, T } from "./dsl.ts"
import { KeyTypeSchema } from "./identity.ts"
import { BrokenRules } from "./organization-policies.ts"
import { described, Id, Name, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

/** Specification 8.5. */
export const KEY_EXPIRY_DAYS_DEFAULT = 90
export const KEY_ROTATION_GRACE_SECONDS_DEFAULT = 86_400

const KeyStatus = OneOf(["active", "rotating", "expired", "revoked"], {
  description: "`rotating`: a replacement exists and this secret still works until `grace_expires_at`",
})
const Cidrs = T.Array(T.String({ minLength: 2, maxLength: 49 }), {
  maxItems: 100,
  description: "Addresses and CIDR ranges that the key may be used from, as `203.0.113.0/24`; empty for all",
})
const Scopes = T.Array(T.String({ minLength: 3, maxLength: 64 }), {
  maxItems: 64,
  uniqueItems: true,
  description:
    "As `kv:read`; left out for keys of type `full_access` and `publishable`, whose scopes are fixed",
})

const keyFields = {
  id: Id,
  name: T.String(),
  type: described(
    KeyTypeSchema,
    "`full_access` holds all scopes of resources, `publishable` none; the other types hold the scopes chosen for them",
  ),
  prefix: T.String({ description: "First characters of the secret, which identify the key" }),
  scopes: T.Array(T.String(), { description: "Scopes that the key holds" }),
  organization_id: Id,
  project_id: Nullable(Id, {
    description: "Project that the key is bound to; null for the whole organization",
  }),
  organization_reach: T.Boolean({
    description:
      "True if it may change what belongs to the whole organization; always true for a key bound to no project",
  }),
  read_only: T.Boolean({ description: "True if the key may only read" }),
  ip_allowlist: T.Array(T.String(), {
    description: "Addresses and CIDR ranges that the key may be used from; empty for all",
  }),
  require_approval: T.Boolean({
    description: "True if high-risk operations of the key wait for a person's approval",
  }),
  status: KeyStatus,
  created_by: Nullable(T.Object({ id: Id, email: T.String() }), {
    description: "Person who created the key; null if that person is gone",
  }),
  created_at: Time,
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it never expires" }),
  last_used_at: Nullable(Time, {
    description: "RFC 3339 time in UTC, up to a minute behind; null if it was never used",
  }),
  rotated_from_id: Nullable(Id, {
    description: "Id of the key that this one replaces; null if it replaces none",
  }),
  grace_expires_at: Nullable(Time, {
    description:
      "RFC 3339 time in UTC when the secret stops working after a rotation; null if it was not rotated",
  }),
  revoked_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not revoked" }),
  policy_violations: BrokenRules,
}

export const Key = T.Object(keyFields)
const NewKey = T.Object({
  ...keyFields,
  secret: T.Optional(T.String({ description: "Shown only in this reply" })),
})

const KeyId = T.Object({ id: Id })

export const keys = area(
  "keys",
  {
    title: "API keys",
    summary: "API keys: created, rotated and revoked by a signed-in person; a key cannot manage keys",
    project: "none",
    belongs: "project",
    refusals: { session: "key_session_required" },
  },
  {
    list: {
      id: "listKeys",
      http: "GET /v1/keys",
      summary: "List the organization's keys",
      scope: "session",
      effect: "read",
      extension: true,
      query: T.Object({
        ...pageQuery,
        status: T.Optional(KeyStatus),
        project_id: T.Optional(described(Id, "Only keys bound to this project")),
      }),
      replies: { 200: Page(Key) },
    },
    create: {
      id: "createKey",
      http: "POST /v1/keys",
      summary: "Create a key; its secret is shown once",
      scope: "session",
      effect: "write",
      extension: true,
      body: T.Object({
        name: Name,
        type: described(
          KeyTypeSchema,
          "`full_access` holds all scopes of resources, `publishable` none; the other types hold the scopes chosen for them",
        ),
        scopes: T.Optional(Scopes),
        project_id: T.Optional(
          Nullable(Id, { description: "Project to bind the key to; null for the whole organization" }),
        ),
        organization_reach: T.Optional(
          T.Boolean({
            default: false,
            description:
              "Lets a key that is bound to a project also change what belongs to the whole organization, such as mail domains. Only owners " +
              "and administrators can create such a key",
          }),
        ),
        read_only: T.Optional(
          T.Boolean({
            description: "The key may only read; left out, as the key policy of the organization says",
          }),
        ),
        ip_allowlist: T.Optional(Cidrs),
        require_approval: T.Optional(
          T.Boolean({
            description:
              "High-risk operations of the key wait for a person's approval; left out, as the key policy of the organization says",
          }),
        ),
        expires_in_days: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: 3650,
            description: "Days until the key expires; 90 when no expiry is given",
          }),
        ),
        expires_at: T.Optional(
          described(Time, "RFC 3339 time in UTC when the key expires, in place of `expires_in_days`"),
        ),
        never_expires: T.Optional(T.Boolean({ description: "The key does not expire" })),
      }),
      replies: { 201: NewKey },
      secrets: ["secret"],
      faults: [
        "invalid_parameter",
        "project_required",
        "invalid_scope",
        "invalid_cidr",
        "invalid_expiry",
        "key_policy_violated",
        "scope_exceeds_creator",
        "org_wide_key_forbidden",
        "project_not_in_organization",
        "role_insufficient",
        "plan_limit_reached",
      ],
      example: { name: "ci", type: "service_account", scopes: ["kv:read", "kv:write"] },
    },
    get: {
      id: "getKey",
      http: "GET /v1/keys/{id}",
      summary: "Show a key",
      scope: "session",
      effect: "read",
      extension: true,
      params: KeyId,
      replies: { 200: Key },
      faults: ["key_not_found"],
    },
    update: {
      id: "updateKey",
      http: "PATCH /v1/keys/{id}",
      summary: "Rename a key or restrict it",
      description:
        "A key can only be restricted: scopes can be removed, `read_only` and `require_approval` turned on.",
      scope: "session",
      effect: "write",
      extension: true,
      params: KeyId,
      body: T.Object({
        name: T.Optional(Name),
        ip_allowlist: T.Optional(Cidrs),
        read_only: T.Optional(
          T.Boolean({ description: "Only true is accepted: the key may only read from now on" }),
        ),
        require_approval: T.Optional(
          T.Boolean({
            description: "Only true is accepted: high-risk operations wait for approval from now on",
          }),
        ),
        scopes: T.Optional(Scopes),
      }),
      replies: { 200: Key },
      faults: [
        "key_not_found",
        "key_already_revoked",
        "invalid_cidr",
        "key_policy_violated",
        "invalid_scope",
        "invalid_parameter",
        "role_insufficient",
      ],
      example: { name: "ci (old)" },
    },
    rotate: {
      id: "rotateKey",
      http: "POST /v1/keys/{id}/rotate",
      summary: "Create a replacement; the old secret works for a grace period",
      scope: "session",
      effect: "write",
      extension: true,
      params: KeyId,
      body: T.Object({
        grace_period_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: 30 * 86_400,
            default: KEY_ROTATION_GRACE_SECONDS_DEFAULT,
            description: "Seconds for which the old secret still works",
          }),
        ),
        expires_at: T.Optional(
          described(
            Time,
            "RFC 3339 time in UTC when the new key expires; left out, it gets the lifetime that the old key was given",
          ),
        ),
      }),
      replies: { 201: NewKey },
      secrets: ["secret"],
      faults: [
        "key_not_found",
        "key_already_rotated",
        "key_already_revoked",
        "invalid_expiry",
        "key_policy_violated",
        "role_insufficient",
        "scope_exceeds_creator",
        "org_wide_key_forbidden",
        "project_not_in_organization",
        "invalid_parameter",
      ],
      example: { grace_period_seconds: 3600 },
    },
    revoke: {
      id: "revokeKey",
      http: "POST /v1/keys/{id}/revoke",
      summary: "Revoke a key at once and for good",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: KeyId,
      body: T.Object({
        cascade: T.Optional(
          T.Boolean({ description: "Also revoke the key that it replaces and the one that replaces it" }),
        ),
      }),
      replies: { 200: Key },
      faults: ["key_not_found", "key_already_revoked", "role_insufficient"],
    },
    delete: {
      id: "deleteKey",
      http: "DELETE /v1/keys/{id}",
      summary: "Revoke a key; the same as revoke",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: KeyId,
      replies: { 200: Key },
      faults: ["key_not_found", "key_already_revoked", "role_insufficient"],
    },
  },
)
