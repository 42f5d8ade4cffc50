import { area, T } from "./dsl.ts"
import { KeyTypeSchema } from "./identity.ts"
import { Id, Name, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

/** Specification 8.5. */
export const KEY_EXPIRY_DAYS_DEFAULT = 90
export const KEY_ROTATION_GRACE_SECONDS_DEFAULT = 86_400

const KeyStatus = OneOf(["active", "rotating", "expired", "revoked"])
const Cidrs = T.Array(T.String({ minLength: 2, maxLength: 49 }), { maxItems: 100 })
const Scopes = T.Array(T.String({ minLength: 3, maxLength: 64 }), { maxItems: 64, uniqueItems: true })

const keyFields = {
  id: Id,
  name: T.String(),
  type: KeyTypeSchema,
  prefix: T.String({ description: "The part of the secret that stays visible" }),
  scopes: T.Array(T.String()),
  organization_id: Id,
  project_id: Nullable(Id),
  organization_reach: T.Boolean({
    description:
      "Whether it changes what belongs to the whole organization; always true of a key bound to no project",
  }),
  read_only: T.Boolean(),
  ip_allowlist: T.Array(T.String()),
  require_approval: T.Boolean(),
  status: KeyStatus,
  created_by: Nullable(T.Object({ id: Id, email: T.String() })),
  created_at: Time,
  expires_at: Nullable(Time),
  last_used_at: Nullable(Time),
  rotated_from_id: Nullable(Id),
  grace_expires_at: Nullable(Time),
  revoked_at: Nullable(Time),
}

export const Key = T.Object(keyFields)
const NewKey = T.Object({ ...keyFields, secret: T.Optional(T.String({ description: "Shown this once" })) })

const KeyId = T.Object({ id: Id })

export const keys = area(
  "keys",
  {
    title: "API keys",
    summary: "Keys are made, rotated and revoked by a signed-in person; a key cannot manage keys",
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
      beyond: true,
      query: T.Object({ ...pageQuery, status: T.Optional(KeyStatus), project_id: T.Optional(Id) }),
      replies: { 200: Page(Key) },
    },
    create: {
      id: "createKey",
      http: "POST /v1/keys",
      summary: "Create a key; its secret is shown once",
      scope: "session",
      effect: "write",
      beyond: true,
      body: T.Object({
        name: Name,
        type: KeyTypeSchema,
        scopes: T.Optional(Scopes),
        project_id: T.Optional(Nullable(Id)),
        organization_reach: T.Optional(
          T.Boolean({
            default: false,
            description:
              "A key bound to a project changes what belongs to the whole organization too, such as mail domains. Only owners " +
              "and administrators make one",
          }),
        ),
        read_only: T.Optional(T.Boolean({ default: false })),
        ip_allowlist: T.Optional(Cidrs),
        require_approval: T.Optional(T.Boolean({ default: false })),
        expires_in_days: T.Optional(T.Integer({ minimum: 1, maximum: 3650 })),
        expires_at: T.Optional(Time),
        never_expires: T.Optional(T.Boolean()),
      }),
      replies: { 201: NewKey },
      secrets: ["secret"],
      faults: [
        "invalid_parameter",
        "project_required",
        "invalid_scope",
        "invalid_cidr",
        "invalid_expiry",
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
      beyond: true,
      params: KeyId,
      replies: { 200: Key },
      faults: ["key_not_found"],
    },
    update: {
      id: "updateKey",
      http: "PATCH /v1/keys/{id}",
      summary: "Rename a key or narrow what it may do",
      description: "A key can only lose power: scopes shrink, `read_only` and `require_approval` turn on.",
      scope: "session",
      effect: "write",
      beyond: true,
      params: KeyId,
      body: T.Object({
        name: T.Optional(Name),
        ip_allowlist: T.Optional(Cidrs),
        read_only: T.Optional(T.Boolean()),
        require_approval: T.Optional(T.Boolean()),
        scopes: T.Optional(Scopes),
      }),
      replies: { 200: Key },
      faults: [
        "key_not_found",
        "key_already_revoked",
        "invalid_cidr",
        "invalid_scope",
        "invalid_parameter",
        "role_insufficient",
      ],
      example: { name: "ci (old)" },
    },
    rotate: {
      id: "rotateKey",
      http: "POST /v1/keys/{id}/rotate",
      summary: "Mint a replacement; the old secret works for a grace window",
      scope: "session",
      effect: "write",
      beyond: true,
      params: KeyId,
      body: T.Object({
        grace_period_seconds: T.Optional(
          T.Integer({ minimum: 0, maximum: 30 * 86_400, default: KEY_ROTATION_GRACE_SECONDS_DEFAULT }),
        ),
        expires_at: T.Optional(Time),
      }),
      replies: { 201: NewKey },
      secrets: ["secret"],
      faults: [
        "key_not_found",
        "key_already_rotated",
        "key_already_revoked",
        "invalid_expiry",
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
      beyond: true,
      params: KeyId,
      body: T.Object({
        cascade: T.Optional(T.Boolean({ description: "Revoke the key it was rotated from or into too" })),
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
      beyond: true,
      params: KeyId,
      replies: { 200: Key },
      faults: ["key_not_found", "key_already_revoked", "role_insufficient"],
    },
  },
)
