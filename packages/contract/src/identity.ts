import { area, T } from "./dsl.ts"
import { planNames } from "./plans.ts"
import { roles } from "./scopes.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

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
export const Plan = OneOf(planNames, { description: "Plan whose limits apply" })
export const RoleSchema = OneOf(roles)

const Named = T.Object({ id: Id, name: T.String() })

const Me = T.Object({
  key: Nullable(
    T.Object({
      id: Id,
      name: T.String(),
      type: described(KeyTypeSchema, "Type of the key"),
      prefix: T.String({ description: "First characters of the key, which identify it and are not secret" }),
      read_only: T.Boolean({ description: "True if the key may only read" }),
      require_approval: T.Boolean({
        description: "True if high-risk operations of the key wait for a person's approval",
      }),
      ip_allowlist: T.Array(T.String(), {
        description: "Addresses and CIDR ranges that the key may be used from; empty for all",
      }),
      expires_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if the key never expires" }),
      created_at: Time,
    }),
    { description: "The calling API key; null for a signed-in person" },
  ),
  organization: T.Object(
    { id: Id, name: T.String(), plan: Plan },
    { description: "Organization that the request acts in" },
  ),
  project: Nullable(Named, {
    description: "Project that the request acts in; null for the whole organization",
  }),
  user: Nullable(T.Object({ id: Id, email: T.String(), name: T.String() }), {
    description: "Person who is signed in or whom the key belongs to; null for keys of services",
  }),
  scopes: T.Array(T.String(), { description: "Scopes that the caller holds, implied ones included" }),
  rate_limits: T.Object(
    {
      requests_per_second: T.Integer({ description: "Requests that are allowed per second on average" }),
      burst: T.Integer({ description: "Largest number of requests at one moment" }),
      remaining: T.Integer({ description: "Requests that may be made now" }),
      reset_at: described(Time, "RFC 3339 time in UTC when `remaining` is `burst` again"),
      ai_requests_per_day: T.Object(
        {
          limit: Nullable(T.Integer(), { description: "AI requests per day; null for no limit" }),
          used: T.Integer({ description: "AI requests made since 00:00 UTC" }),
          remaining: Nullable(T.Integer(), { description: "AI requests left today; null for no limit" }),
          reset_at: described(Time, "RFC 3339 time in UTC when the count starts again"),
        },
        { description: "Daily allowance of AI requests" },
      ),
    },
    { description: "Limits of the organization, shared by all its keys" },
  ),
})

const Service = T.Object({
  name: T.String({ description: "Name of the area, as in operation names: `databases`" }),
  title: T.String({ description: "Name for people" }),
  status: OneOf(["available", "degraded", "not_configured"], {
    description: "`degraded`: part of it does not work; `not_configured`: it needs a setting",
  }),
  reason: Nullable(T.String(), { description: "Why it is not fully available; null when it is" }),
  setting: Nullable(T.String({ description: "The setting that enables what is missing" })),
  capabilities: T.Record(T.String(), T.Unknown(), {
    description: "What the engine behind it supports; the fields depend on the area",
  }),
})

export const identity = area(
  "identity",
  {
    title: "Identity and status",
    summary: "The calling key or person, and the state of this installation",
    project: "none",
    belongs: "installation",
  },
  {
    me: {
      id: "getMe",
      http: "GET /v1/me",
      summary: "Show the calling key or person, its scopes and its limits",
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
      replies: {
        200: T.Object({ services: T.Array(Service, { description: "Areas of this installation" }) }),
      },
    },
    scopes: {
      id: "listScopes",
      http: "GET /v1/scopes",
      summary: "List the scopes a key can hold",
      scope: "any",
      effect: "read",
      extension: true,
      replies: {
        200: T.Object({
          scopes: T.Array(
            T.Object({
              name: T.String({ description: "The scope: `kv:read`" }),
              service: T.String({ description: "Part before the colon: `kv`" }),
              action: T.String({ description: "Part after the colon: `read`" }),
              platform: T.Boolean({
                description:
                  "True if the scope concerns the whole installation and only its operator can grant it",
              }),
              description: T.String(),
            }),
            { description: "All scopes that exist" },
          ),
        }),
      },
    },
  },
)
