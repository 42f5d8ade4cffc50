import { area, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Time } from "./types.ts"

/** How long one call looks for better plans, in seconds, before it answers with what it has. */
export const OPTIMIZE_SECONDS_MAX = 30

const QUESTION_LENGTH_MAX = 2000
const SQL_LENGTH_MAX = 100_000

const READ = ["database:read", "database:query"] as const

const target = {
  database_id: T.Optional(Nullable(Id)),
  branch_id: T.Optional(Nullable(Id)),
}

const REACH_FAULTS = [
  "database_not_found",
  "database_not_provisioned",
  "branch_not_found",
  "rate_limited",
  "service_unavailable",
] as const

const Level = OneOf(["ERROR", "WARN", "INFO"])
const Facts = T.Record(T.String(), T.Unknown())

const Finding = T.Object({
  name: T.String({ description: "The check: `unindexed_foreign_key`" }),
  title: T.String(),
  level: Level,
  categories: T.Array(OneOf(["PERFORMANCE", "SECURITY", "RELIABILITY", "CAPACITY"])),
  description: T.String({ description: "What the check is about" }),
  detail: T.String({ description: "What was found" }),
  remediation: T.String({ description: "What to do, with the statements where there are any" }),
  metadata: Facts,
  cache_key: T.String({ description: "The same for the same finding in every report" }),
})

const Report = T.Object({
  generated_at: Time,
  window: T.Object({ from: Time, to: Time, baseline_from: Time }),
  summary: T.Object({ error: T.Integer(), warn: T.Integer(), info: T.Integer() }),
  findings: T.Array(Finding),
  skipped: T.Array(T.Object({ name: T.String(), reason: T.String() }), {
    description: "Checks that did not end in time or are not possible here",
  }),
})

const statementFields = {
  query: T.String(),
  query_id: Nullable(T.String()),
  calls: Nullable(T.Integer()),
  total_exec_time_ms: Nullable(T.Number()),
}

const IndexSuggestion = T.Object({
  type: T.Literal("index"),
  ...statementFields,
  startup_cost_before: Nullable(T.Number()),
  startup_cost_after: Nullable(T.Number()),
  total_cost_before: Nullable(T.Number()),
  total_cost_after: Nullable(T.Number()),
  time_before_ms: Nullable(
    T.Number({ description: "The best of several runs; null where none was measured" }),
  ),
  time_after_ms: Nullable(T.Number()),
  index_statements: T.Array(T.String()),
  errors: T.Array(T.String()),
  verified_by: OneOf(["branch", "explain", "heuristic"]),
  estimated_size_bytes: Nullable(T.Integer()),
})

const RewriteSuggestion = T.Object({
  type: T.Literal("rewrite"),
  ...statementFields,
  rule: T.String(),
  message: T.String(),
  example: Nullable(T.String()),
})

const Optimization = T.Object({
  generated_at: Time,
  suggestions: T.Array(T.Union([IndexSuggestion, RewriteSuggestion])),
  examined: T.Integer({ description: "Statements that were looked at" }),
  skipped: T.Array(T.Object({ query: T.String(), query_id: Nullable(T.String()), reason: T.String() })),
  branch: T.Object({
    used: T.Boolean({ description: "Whether indexes were built and measured on a throw-away branch" }),
    reason: Nullable(T.String({ description: "Why not" })),
  }),
})

const Scaling = T.Object({
  generated_at: Time,
  suggestions: T.Array(
    T.Object({
      resource: T.String(),
      current: T.Union([T.String(), T.Number()]),
      recommended: T.Union([T.String(), T.Number()]),
      reason: T.String(),
      evidence: Facts,
    }),
  ),
})

const Translation = T.Object({
  sql: T.String(),
  explanation: T.String(),
  tables: T.Array(T.String()),
  read_only: T.Boolean(),
  valid: T.Boolean({ description: "Whether PostgreSQL accepts the statement for this database" }),
  warnings: T.Array(T.String()),
  confidence: T.Number({ minimum: 0, maximum: 1 }),
  model: T.String({ description: "The model that wrote it, or `rules`" }),
  result: T.Optional(
    T.Object({
      columns: T.Array(T.Object({ name: T.String(), type: T.String() })),
      rows: T.Array(T.Record(T.String(), T.Unknown())),
      row_count: T.Integer(),
      truncated: T.Boolean(),
    }),
  ),
})

export const advice = area(
  "advice",
  {
    title: "Database advice",
    summary: "What is wrong in a database, what would make it faster, and what size it should have",
    project: "required",
    belongs: "project",
  },
  {
    anomalies: {
      id: "detectAnomalies",
      http: "POST /api/v1/anomalies",
      summary: "Report what is wrong or unusual in a database",
      description:
        "Looks at the catalogs and statistics of the database, and compares the statements of the last `window_hours` " +
        "with those of the seven days before. A healthy database has no findings.",
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        window_hours: T.Optional(T.Integer({ minimum: 1, maximum: 72, default: 24 })),
      }),
      replies: { 200: Report },
      faults: REACH_FAULTS,
    },
    optimize: {
      id: "optimizeQuery",
      http: "POST /api/v1/optimize",
      summary: "Propose indexes and rewrites that were shown to help",
      description:
        "Takes the statement given, or those that took most time. Indexes are built on a throw-away branch and the " +
        "statement is run there with and without; what does not help is not proposed. Statements that write are " +
        `planned and not run. An answer takes at most ${OPTIMIZE_SECONDS_MAX} seconds.`,
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        sql: T.Optional(T.String({ minLength: 1, maxLength: SQL_LENGTH_MAX })),
        params: T.Optional(T.Array(T.Unknown(), { maxItems: 1000 })),
        limit: T.Optional(
          T.Integer({ minimum: 1, maximum: 20, default: 5, description: "Statements to look at" }),
        ),
      }),
      aliases: { query: "sql", parameters: "params" },
      replies: { 200: Optimization },
      faults: [...REACH_FAULTS, "invalid_sql"],
      example: { limit: 5 },
    },
    scaling: {
      id: "getScalingSuggestions",
      http: "GET /api/v1/scaling",
      summary: "Propose another size, tier or setting where use calls for one",
      scope: READ,
      effect: "read",
      query: T.Object({ database_id: T.Optional(Id), branch_id: T.Optional(Id) }),
      replies: { 200: Scaling },
      faults: REACH_FAULTS,
    },
    naturalLanguageToSql: {
      id: "naturalLanguageToSql",
      http: "POST /api/v1/nl-to-sql",
      summary: "Turn a question into a SELECT",
      description:
        "The statement is checked against the database before it is returned, and never writes. With `execute` it is " +
        "also run, read-only, and at most 100 rows come back. Without a language model, a question is refused when its " +
        "statement would leave out one of its words, when tables can be joined in more than one way, or when it takes " +
        "longer than 200 ms. `confidence` is the share of such answers that were right on a published set of questions.",
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        question: T.String({ minLength: 1, maxLength: QUESTION_LENGTH_MAX }),
        dialect: T.Optional(T.Literal("postgres")),
        tables: T.Optional(T.Array(T.String({ minLength: 1, maxLength: 200 }), { maxItems: 100 })),
        execute: T.Optional(T.Boolean()),
      }),
      replies: { 200: Translation },
      faults: [
        ...REACH_FAULTS,
        "question_not_understood",
        "question_not_read_only",
        "query_timeout",
        "upstream_error",
      ],
      example: { question: "How many customers signed up per month?" },
    },
  },
)
