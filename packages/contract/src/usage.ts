import { area, T } from "./dsl.ts"
import { KeyTypeSchema } from "./identity.ts"
import { type Meter, meterNames } from "./meters.ts"
import { planNames } from "./plans.ts"
import { described, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"

/** Days that one export of usage covers at most. */
export const USAGE_EXPORT_DAYS_MAX = 400

/** Which service a meter belongs to, as usage is shown. */
export const meterServices = {
  requests: "api",
  request_errors: "api",
  ingress_bytes: "bandwidth",
  egress_bytes: "bandwidth",
  database_hours: "databases",
  sql_statements: "databases",
  kv_reads: "kv",
  kv_writes: "kv",
  kv_bytes: "kv",
  encryption_ops: "encryption",
  storage_gb: "storage",
  vector_ops: "vectors",
  searches: "search",
  ai_requests: "ai",
  ai_input_tokens: "ai",
  ai_output_tokens: "ai",
  build_minutes: "builds",
  service_hours: "services",
  compute_hours: "compute",
  workload_vcpu_seconds: "compute",
  workload_memory_gb_seconds: "compute",
  workload_disk_gb_hours: "compute",
  function_invocations: "functions",
  gb_seconds: "functions",
  events_published: "events",
  deliveries: "deliveries",
  email_sends: "email",
} as const satisfies Record<Meter, string>

const Month = T.String({
  pattern: "^20[0-9][0-9]-(0[1-9]|1[0-2])$",
  description: "Calendar month in UTC, as `2026-11`; the current one when left out",
})
const monthQuery = { month: T.Optional(Month) }

const Day = (description: string) => T.String({ format: "date", description })

const Period = T.Object(
  {
    start: described(Time, "First moment of the month, RFC 3339 in UTC"),
    end: described(Time, "First moment of the next month, RFC 3339 in UTC"),
  },
  { description: "Calendar month in UTC that the numbers are of" },
)

const Count = (description: string) => T.Integer({ description })
const Quantity = (description: string) => T.Number({ description })

const Requests = Count("Requests, rejected ones included")
const Errors = Count("Requests that were answered with a status of 400 or more")

const Metric = OneOf(meterNames, { description: "Name of the meter" })
const Unit = T.String({ description: "Unit of the quantity" })
const Used = Quantity(
  "Quantity in the period; of a level, such as stored bytes, the average over time so far",
)

const Service = T.Object({
  service: T.String({ description: "Service that the meter belongs to" }),
  metric: Metric,
  unit: Unit,
  used: Used,
  included: Nullable(T.Number(), {
    description: "Quantity that the plan includes in a month; null where the plan has no such quota",
  }),
  remaining: Nullable(T.Number(), {
    description: "What is left of the included quantity; null where there is no quota",
  }),
  overage: Quantity("Quantity past what the plan includes; 0 where there is no quota"),
  cost_micros: Nullable(T.Integer(), {
    description:
      "What the month so far costs beyond what is included, in millionths of the installation's currency; null where the meter has no price",
  }),
})

const ByService = T.Array(
  T.Object({
    service: T.String({ description: "Area of the API" }),
    requests: Requests,
    errors: Errors,
  }),
  { description: "Requests by area of the API, in alphabetical order" },
)

const keyFields = {
  key_id: Id,
  name: T.String(),
  prefix: T.String({ description: "First characters of the secret, which identify the key" }),
  type: described(KeyTypeSchema, "Type of the key"),
  status: OneOf(["active", "rotating", "expired", "revoked"], { description: "State of the key now" }),
  project_id: Nullable(Id, {
    description: "Project that the key is bound to; null for the whole organization",
  }),
  requests: Requests,
  errors: Errors,
  last_used_at: Nullable(Time, {
    description: "RFC 3339 time in UTC, up to a minute behind; null if it was never used",
  }),
  by_service: ByService,
}

const Allowance = (what: string) =>
  T.Object(
    {
      used: Quantity("Quantity used"),
      allowance: Nullable(T.Number(), { description: "What the plan includes; null where it sets no limit" }),
      remaining: Nullable(T.Number(), { description: "What is left of it; null where there is no limit" }),
    },
    { description: what },
  )

const OF_CALLER =
  "A caller that is limited to projects sees the keys of these alone. Requests that were refused count too, those whose " +
  "secret was not known to belong to a key do not."

export const usage = area(
  "usage",
  {
    title: "Usage",
    summary: "What the organization and its keys used, by month",
    project: "none",
    belongs: "organization",
  },
  {
    summary: {
      id: "getUsageSummary",
      http: "GET /api/v1/usage",
      summary: "Read the usage of the organization in a month, with what the plan includes",
      description: "Counts are at most a few seconds behind.",
      scope: "any",
      effect: "read",
      query: T.Object(monthQuery),
      replies: {
        200: T.Object({
          organization_id: Id,
          plan: OneOf(planNames, { description: "Plan whose quotas apply" }),
          period: Period,
          requests: T.Object({ total: Requests, errors: Errors }, { description: "All requests" }),
          services: T.Array(Service, { description: "Every meter, used or not" }),
        }),
      },
    },
    keys: {
      id: "getKeysUsage",
      http: "GET /v1/usage/keys",
      summary: "List the keys of the organization with their requests in a month",
      description: `${OF_CALLER} The newest key is first.`,
      scope: "metering:read",
      effect: "read",
      query: T.Object({ ...monthQuery, ...pageQuery }),
      replies: {
        200: T.Object({
          period: Period,
          keys: T.Array(T.Object(keyFields), { description: "One page of the keys" }),
          total: T.Integer({ description: "Number of keys on all pages" }),
          limit: T.Integer({ description: "The `limit` that was applied" }),
          offset: T.Integer({ description: "The `offset` that was applied" }),
        }),
      },
    },
    key: {
      id: "getKeyUsage",
      http: "GET /v1/usage/keys/{key_id}",
      summary: "Read the usage of one key in a month, by day, area and status",
      description: OF_CALLER,
      scope: "metering:read",
      effect: "read",
      params: T.Object({ key_id: Id }),
      query: T.Object({
        ...monthQuery,
        costs: T.Optional(
          T.Boolean({
            default: false,
            description:
              "Tells what each meter cost too, by its price and with nothing included, since a quota is the organization's; answered with 501 where the installation has no prices",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          period: Period,
          ...keyFields,
          by_day: T.Array(T.Object({ day: Day("Day in UTC"), requests: Requests, errors: Errors }), {
            description: "Days on which the key was used, in their order",
          }),
          by_status: T.Record(T.String(), T.Integer(), {
            description: "Number of requests by the status that answered them",
          }),
          metrics: T.Array(
            T.Object({
              metric: Metric,
              unit: Unit,
              used: Quantity("Quantity in the period"),
              cost_micros: T.Optional(
                Nullable(T.Integer(), {
                  description:
                    "Cost in millionths of the installation's currency, where `costs` asked for it; null where the meter has no price",
                }),
              ),
            }),
            {
              description: "What else was measured of the key",
            },
          ),
        }),
      },
      faults: ["key_not_found", "billing_not_configured"],
    },
    export: {
      id: "exportUsage",
      http: "GET /v1/usage/export",
      summary: "Download the stored usage rows as CSV or JSON lines",
      description:
        "A row for each day, meter, key and project. `key_id` and `project_id` are empty (CSV) or null where a request " +
        `had none. At most ${USAGE_EXPORT_DAYS_MAX} days at a time.`,
      scope: "metering:read",
      effect: "read",
      extension: true,
      content: { reply: "bytes", replyTypes: ["text/csv", "application/x-ndjson"] },
      query: T.Object({
        from: T.Optional(Day("First day in UTC; the first of the current month when left out")),
        to: T.Optional(Day("Last day in UTC, itself included; today when left out")),
        format: T.Optional(OneOf(["csv", "jsonl"], { default: "csv", description: "Form of the file" })),
      }),
      replies: { 200: T.Unknown() },
      faults: ["invalid_parameter"],
    },
    budget: {
      id: "getUserBudget",
      http: "GET /v1/user/budget",
      summary: "Read what is left of this month's allowances",
      scope: "any",
      effect: "read",
      replies: {
        200: T.Object({
          period: Period,
          ai_tokens: Allowance("Tokens sent to models and produced by them"),
          ai_requests_today: Allowance("Requests to models since 00:00 UTC"),
          storage_gb: Allowance("GB stored in buckets, on average so far"),
          compute_hours: Allowance("Hours that computers, sandboxes and deployments were up"),
          service_hours: Allowance("Hours that run services were up"),
        }),
      },
    },
    stats: {
      id: "getUserStats",
      http: "GET /v1/user/stats",
      summary: "Read this month's statistics of each service",
      scope: "any",
      effect: "read",
      replies: {
        200: T.Object({
          period: Period,
          ai: T.Object(
            {
              requests: Count("Requests served by a model"),
              input_tokens: Count("Tokens sent to models"),
              output_tokens: Count("Tokens produced by models"),
            },
            { description: "Language models" },
          ),
          storage: T.Object(
            {
              average_gb: Quantity("GB stored in buckets, on average so far"),
              requests: Count("Requests of keys to the storage API and the S3 protocol"),
            },
            { description: "Files" },
          ),
          compute: T.Object(
            {
              hours: Quantity("Hours that computers, sandboxes and deployments were up"),
              vcpu_seconds: Quantity("Processors multiplied by the seconds they were up"),
              memory_gb_seconds: Quantity("GB of memory multiplied by the seconds they were up"),
            },
            { description: "Computers, sandboxes and deployments" },
          ),
          bandwidth: T.Object(
            {
              ingress_bytes: Count("Bytes received"),
              egress_bytes: Count("Bytes sent"),
            },
            { description: "Traffic, as far as services measure it" },
          ),
          functions: T.Object(
            {
              invocations: Count("Functions invoked"),
              gb_seconds: Quantity("Memory multiplied by the time that functions ran"),
            },
            { description: "Functions" },
          ),
        }),
      },
    },
  },
)
