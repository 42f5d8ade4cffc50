import { area, T } from "./dsl.ts"
import { planNames } from "./plans.ts"
import { roles } from "./scopes.ts"
import { Id, Nullable, OneOf, Time } from "./types.ts"

export const keyTypes = [
  "secret",
  "service_account",
  "full_access",
  "personal",
  "publishable",
  "oauth",
] as const
export type KeyType = (typeof keyTypes)[number]
export const KeyTypeSchema = OneOf(keyTypes)
export const Plan = OneOf(planNames)
export const RoleSchema = OneOf(roles)

const Named = T.Object({ id: Id, name: T.String() })

const Me = T.Object({
  key: Nullable(
    T.Object({
      id: Id,
      name: T.String(),
      type: KeyTypeSchema,
      prefix: T.String(),
      read_only: T.Boolean(),
      require_approval: T.Boolean(),
      ip_allowlist: T.Array(T.String()),
      expires_at: Nullable(Time),
      created_at: Time,
    }),
  ),
  organization: T.Object({ id: Id, name: T.String(), plan: Plan }),
  project: Nullable(Named),
  user: Nullable(T.Object({ id: Id, email: T.String(), name: T.String() })),
  scopes: T.Array(T.String()),
  rate_limits: T.Object({
    requests_per_second: T.Integer(),
    burst: T.Integer(),
    remaining: T.Integer(),
    reset_at: Time,
    ai_requests_per_day: T.Object({
      limit: Nullable(T.Integer()),
      used: T.Integer(),
      remaining: Nullable(T.Integer()),
      reset_at: Time,
    }),
  }),
})

const Service = T.Object({
  name: T.String(),
  title: T.String(),
  status: OneOf(["available", "degraded", "not_configured"]),
  reason: Nullable(T.String()),
  setting: Nullable(T.String({ description: "The setting that enables what is missing" })),
  capabilities: T.Record(T.String(), T.Unknown()),
})

export const identity = area(
  "identity",
  {
    title: "Identity and status",
    summary: "Who is calling, and what this installation can do",
    project: "none",
    belongs: "installation",
  },
  {
    me: {
      id: "getMe",
      http: "GET /v1/me",
      summary: "Show the calling key, its scopes and its live limits",
      scope: "any",
      effect: "read",
      belongs: "caller",
      project: "optional",
      replies: { 200: Me },
      faults: ["role_insufficient"],
    },
    services: {
      id: "getServicesStatus",
      http: "GET /api/v1/services",
      summary: "Show the state of every area of this installation",
      scope: "any",
      effect: "read",
      replies: { 200: T.Object({ services: T.Array(Service) }) },
    },
    scopes: {
      id: "listScopes",
      http: "GET /v1/scopes",
      summary: "List the scopes a key can hold",
      scope: "any",
      effect: "read",
      beyond: true,
      replies: {
        200: T.Object({
          scopes: T.Array(
            T.Object({
              name: T.String(),
              service: T.String(),
              action: T.String(),
              platform: T.Boolean(),
              description: T.String(),
            }),
          ),
        }),
      },
    },
  },
)
