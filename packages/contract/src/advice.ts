import { area, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

/** Seconds after which one call stops searching for better plans and replies with what it has. */
export const OPTIMIZE_SECONDS_MAX = 30

const QUESTION_LENGTH_MAX = 2000
const SQL_LENGTH_MAX = 100_000

const READ = ["database:read", "database:query"] as const

const target = {
  database_id: T.Optional(
    Nullable(Id, { description: "Database; the project's default when left out or null" }),
  ),
  branch_id: T.Optional(Nullable(Id, { description: "Branch; the default branch when left out or null" })),
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
  title: T.String({ description: "Name of the check for people" }),
  level: described(Level, "How serious it is"),
  categories: T.Array(OneOf(["PERFORMANCE", "SECURITY", "RELIABILITY", "CAPACITY"]), {
    description: "What it affects",
  }),
  description: T.String({ description: "What the check is about" }),
  detail: T.String({ description: "What was found" }),
  remediation: T.String({ description: "What to do, with SQL statements if there are any" }),
  metadata: described(
    Facts,
    "Values behind `detail`, such as names of tables; the fields depend on the check",
  ),
  cache_key: T.String({ description: "The same for the same finding in every report" }),
})

const Report = T.Object({
  generated_at: described(Time, "RFC 3339 time in UTC of the report"),
  window: T.Object(
    {
      from: described(Time, "RFC 3339 time in UTC where the compared time begins"),
      to: described(Time, "RFC 3339 time in UTC where it ends"),
      baseline_from: described(
        Time,
        "RFC 3339 time in UTC where the time to compare with begins; it ends at `from`",
      ),
    },
    { description: "Times whose statements were compared" },
  ),
  summary: T.Object(
    {
      error: T.Integer({ description: "Number of findings of level ERROR" }),
      warn: T.Integer({ description: "Number of findings of level WARN" }),
      info: T.Integer({ description: "Number of findings of level INFO" }),
    },
    { description: "Number of findings by level" },
  ),
  findings: T.Array(Finding, { description: "Findings, the most serious first" }),
  skipped: T.Array(
    T.Object({
      name: T.String({ description: "Name of the check" }),
      reason: T.String({ description: "Why it was skipped" }),
    }),
    {
      description: "Checks that did not finish in time or are not possible here",
    },
  ),
})

const statementFields = {
  query: T.String({ description: "Statement with `$1`, `$2`, … for constants" }),
  query_id: Nullable(T.String(), {
    description: "The same for statements that differ in constants alone; null if it is not known",
  }),
  calls: Nullable(T.Integer(), { description: "How often it ran; null for a statement of the request" }),
  total_exec_time_ms: Nullable(T.Number(), {
    description: "Milliseconds that all its runs took; null for a statement of the request",
  }),
}

const IndexSuggestion = T.Object({
  type: T.Literal("index", { description: "Always `index`" }),
  ...statementFields,
  startup_cost_before: Nullable(T.Number(), {
    description: "Planner's cost until the first row, without the index; null if it was not planned",
  }),
  startup_cost_after: Nullable(T.Number(), {
    description: "Planner's cost until the first row, with the index; null if it was not planned",
  }),
  total_cost_before: Nullable(T.Number(), {
    description: "Planner's cost of the statement without the index; null if it was not planned",
  }),
  total_cost_after: Nullable(T.Number(), {
    description: "Planner's cost of the statement with the index; null if it was not planned",
  }),
  time_before_ms: Nullable(
    T.Number({
      description: "Milliseconds of the best of several runs without the index; null if it was not measured",
    }),
  ),
  time_after_ms: Nullable(T.Number(), { description: "The same with the index" }),
  index_statements: T.Array(T.String(), { description: "CREATE INDEX statements to run" }),
  errors: T.Array(T.String(), { description: "What went wrong while the suggestion was tested" }),
  verified_by: OneOf(["branch", "explain", "heuristic"], {
    description:
      "`branch`: built and measured on a temporary branch; `explain`: planned only; `heuristic`: neither",
  }),
  estimated_size_bytes: Nullable(T.Integer(), { description: "Size of the index; null if it is not known" }),
})

const RewriteSuggestion = T.Object({
  type: T.Literal("rewrite", { description: "Always `rewrite`" }),
  ...statementFields,
  rule: T.String({ description: "Name of the rule that found it" }),
  message: T.String({ description: "What to change and why" }),
  example: Nullable(T.String(), { description: "The statement rewritten; null where that takes a decision" }),
})

const Optimization = T.Object({
  generated_at: Time,
  suggestions: T.Array(T.Union([IndexSuggestion, RewriteSuggestion]), {
    description: "Indexes and rewrites, the most useful first",
  }),
  examined: T.Integer({ description: "Number of statements that were examined" }),
  skipped: T.Array(
    T.Object({
      query: T.String({ description: "The statement" }),
      query_id: Nullable(T.String(), { description: "Its id; null if it is not known" }),
      reason: T.String({ description: "Why it was skipped" }),
    }),
    { description: "Statements that were not examined" },
  ),
  branch: T.Object(
    {
      used: T.Boolean({ description: "True if indexes were built and measured on a temporary branch" }),
      reason: Nullable(T.String({ description: "Why no branch was used; null if one was" })),
    },
    { description: "Whether a temporary branch was used" },
  ),
})

const Scaling = T.Object({
  generated_at: Time,
  suggestions: T.Array(
    T.Object({
      resource: T.String({ description: "What to change: `isolation`, a limit or a setting" }),
      current: T.Union([T.String(), T.Number()], { description: "Present value" }),
      recommended: T.Union([T.String(), T.Number()], { description: "Proposed value" }),
      reason: T.String({ description: "Why" }),
      evidence: described(Facts, "Measurements behind the proposal"),
    }),
    { description: "Changes of size; none when the size fits" },
  ),
})

const Translation = T.Object({
  sql: T.String({ description: "The SELECT statement" }),
  explanation: T.String({ description: "What the statement does, in words" }),
  tables: T.Array(T.String(), { description: "Tables that it reads" }),
  read_only: T.Boolean({ description: "Always true: statements that write are not returned" }),
  valid: T.Boolean({ description: "True if PostgreSQL accepts the statement for this database" }),
  warnings: T.Array(T.String(), { description: "What to check before relying on the result" }),
  confidence: T.Number({
    minimum: 0,
    maximum: 1,
    description: "Share of such answers that were right on a published set of questions",
  }),
  model: T.String({ description: "The model that wrote it, or `rules`" }),
  result: T.Optional(
    T.Object(
      {
        columns: T.Array(
          T.Object({ name: T.String(), type: T.String({ description: "PostgreSQL type of the column" }) }),
          {
            description: "Columns of the result",
          },
        ),
        rows: T.Array(T.Record(T.String(), T.Unknown()), { description: "At most 100 rows, as objects" }),
        row_count: T.Integer({ description: "Number of rows in the reply" }),
        truncated: T.Boolean({ description: "True if there are more rows" }),
      },
      { description: "Rows of the statement, with `execute`" },
    ),
  ),
})

export const advice = area(
  "advice",
  {
    title: "Database advice",
    summary: "Anomalies, index and query suggestions, sizing, and questions in plain words",
    project: "required",
    belongs: "project",
  },
  {
    anomalies: {
      id: "detectAnomalies",
      http: "POST /api/v1/anomalies",
      summary: "Report problems and unusual behaviour of a database",
      description:
        "Examines the catalogs and statistics of the database, and compares the statements of the last `window_hours` " +
        "with those of the seven days before. A healthy database has no findings.",
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        window_hours: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: 72,
            default: 24,
            description: "Hours up to now whose statements are compared",
          }),
        ),
      }),
      replies: { 200: Report },
      faults: REACH_FAULTS,
    },
    optimize: {
      id: "optimizeQuery",
      http: "POST /api/v1/optimize",
      summary: "Suggest indexes and rewrites that were measured to help",
      description:
        "Examines the given statement, or those that took most time. Indexes are built on a temporary branch and the " +
        "statement is run there with and without them; what does not help is not suggested. Statements that write are " +
        `planned and not run. The reply takes at most ${OPTIMIZE_SECONDS_MAX} seconds.`,
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        sql: T.Optional(
          T.String({
            minLength: 1,
            maxLength: SQL_LENGTH_MAX,
            description: "Statement to examine; left out, those that took most time",
          }),
        ),
        params: T.Optional(
          T.Array(T.Unknown(), { maxItems: 1000, description: "Values of $1, $2, … in `sql`" }),
        ),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: 20,
            default: 5,
            description: "Largest number of statements to examine",
          }),
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
      summary: "Suggest another size, tier or setting where the usage calls for it",
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
        "also run, read-only, and at most 100 rows are returned. Without a language model, a question is rejected when its " +
        "statement would leave out one of its words, when tables can be joined in more than one way, or when it takes " +
        "longer than 200 ms. `confidence` is the share of such answers that were right on a published set of questions.",
      scope: READ,
      effect: "read",
      body: T.Object({
        ...target,
        question: T.String({
          minLength: 1,
          maxLength: QUESTION_LENGTH_MAX,
          description: "Question in plain words",
        }),
        dialect: T.Optional(T.Literal("postgres", { description: "Always `postgres`" })),
        tables: T.Optional(
          T.Array(T.String({ minLength: 1, maxLength: 200 }), {
            maxItems: 100,
            description: "Only these tables may be used; all when left out",
          }),
        ),
        execute: T.Optional(
          T.Boolean({ description: "Also run the statement and return its rows; false when left out" }),
        ),
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
