import { area, MIB, T } from "./dsl.ts"
import { NeonQuery, Params, SQL_BATCH_MAX, Sql } from "./sql-fields.ts"
import { neonSpecs } from "./sql-neon.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

export const SQL_ROWS_DEFAULT = 10_000
export const SQL_ROWS_MAX = 100_000
export const SQL_TIMEOUT_MS_DEFAULT = 30_000
export const SQL_TIMEOUT_MS_MAX = 300_000
/** Bytes of rows in one reply; a stream has no such limit. */
export const SQL_BYTES_MAX = 10 * MIB
export const QUERY_LOG_LIMIT_DEFAULT = 100
export const QUERY_LOG_LIMIT_MAX = 1_000

const SCOPE = ["database:read", "database:query"] as const

const target = {
  database_id: T.Optional(
    Nullable(Id, { description: "Database; the project's default when left out or null" }),
  ),
  branch_id: T.Optional(Nullable(Id, { description: "Branch; the default branch when left out or null" })),
}

const options = {
  array_mode: T.Optional(
    T.Boolean({
      description: "Rows as arrays in the order of `columns` instead of objects; false when left out",
    }),
  ),
  read_only: T.Optional(
    T.Boolean({
      description:
        "Allow only SELECT, SHOW and EXPLAIN, in a transaction that is rolled back; false when left out",
    }),
  ),
  timeout_ms: T.Optional(
    T.Integer({
      minimum: 10,
      maximum: SQL_TIMEOUT_MS_MAX,
      default: SQL_TIMEOUT_MS_DEFAULT,
      description: "Time limit of the statement, or of all statements of a transaction together",
    }),
  ),
  max_rows: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: SQL_ROWS_MAX,
      default: SQL_ROWS_DEFAULT,
      description: "Largest number of rows in the result; more set `truncated`",
    }),
  ),
}

const resultFields = {
  columns: T.Array(
    T.Object({
      name: T.String({ description: "Name of the column" }),
      type: T.String({
        description: "PostgreSQL's name of the type (`pg_type.typname`): `int4`, `_text` for an array",
      }),
      data_type_id: T.Integer({ description: "OID of the type" }),
      table_id: T.Integer({ description: "OID of the table; 0 where the column is computed" }),
      column_id: T.Integer({ description: "Number of the column in its table; 0 where it is computed" }),
    }),
    { description: "Columns of the result" },
  ),
  rows: T.Array(T.Union([T.Array(T.Unknown()), T.Record(T.String(), T.Unknown())]), {
    description:
      "int8, numeric and money are strings, because JSON numbers cannot hold them; NaN and the infinities are strings. " +
      "In objects a name that occurs again ends in _2, _3, …",
  }),
  row_count: Nullable(
    T.Integer({ description: "Rows returned or changed; null for commands that count nothing" }),
  ),
  command: Nullable(T.String({ description: "`SELECT`, `CREATE TABLE`, …; null for an empty statement" })),
  truncated: T.Boolean({
    description: "True if there are more rows than `max_rows`, or more than 10 MiB of them",
  }),
  meta: T.Object(
    {
      duration_ms: T.Number({ description: "Milliseconds in the database" }),
      wake_ms: T.Number({ description: "Milliseconds that resuming the database took; 0 if it was running" }),
      rows_read: T.Null({ description: "Always null: PostgreSQL does not count it" }),
      query_id: T.String({ description: "The same for statements that differ in constants alone" }),
      branch_id: described(Id, "Branch that it ran on"),
    },
    { description: "How the statement ran" },
  ),
}

const Failure = T.Object({
  code: T.String({ description: "Error code, as in the documentation" }),
  error: T.String({ description: "What went wrong, for people" }),
  details: T.Optional(
    T.Record(T.String(), T.Unknown(), {
      description: "What PostgreSQL said: `sqlstate`, `position` and the like",
    }),
  ),
})

const BatchResult = T.Union([
  T.Object({ ok: T.Literal(true, { description: "The statement ran" }), ...resultFields }),
  T.Object({
    ok: T.Literal(false, { description: "The statement failed" }),
    error: described(Failure, "Why it failed"),
  }),
])

const LogEntry = T.Object({
  id: Id,
  tenant_id: described(Id, "Id of the organization"),
  database_id: Id,
  branch_id: Id,
  query_id: T.String({ description: "The same for statements that differ in constants alone" }),
  sql: T.String({ description: "The statement without comments, and with `?` for every constant" }),
  command: Nullable(T.String(), {
    description: "`SELECT`, `CREATE TABLE`, …; null for an empty statement or one that failed",
  }),
  status: OneOf(["ok", "error"], { description: "Whether the statement succeeded" }),
  sqlstate: Nullable(T.String(), { description: "PostgreSQL's error code; null if it succeeded" }),
  error: Nullable(T.String(), { description: "PostgreSQL's error message; null if it succeeded" }),
  rows: Nullable(T.Integer(), {
    description: "Rows returned or changed; null for commands that count nothing",
  }),
  duration_ms: T.Number({ description: "Milliseconds in the database" }),
  wake_ms: T.Number({ description: "Milliseconds that resuming the database took; 0 if it was running" }),
  started_at: Time,
  source: OneOf(["http", "postgres"], {
    description: "`http`: this API; `postgres`: a PostgreSQL connection",
  }),
  key_id: Nullable(Id, { description: "API key that sent it over HTTP; null otherwise" }),
  user: Nullable(T.String(), {
    description: "Role that ran it over a PostgreSQL connection; null over HTTP",
  }),
  application_name: Nullable(T.String(), {
    description: "Name that the client of a PostgreSQL connection gave; null for none",
  }),
  client_addr: Nullable(T.String(), { description: "Address of the client; null if it is not known" }),
  read_only: T.Boolean({ description: "True if it was restricted to reading" }),
  request_id: Nullable(T.String(), { description: "Request that sent it over HTTP; null otherwise" }),
})

const REACH_FAULTS = [
  "database_not_found",
  "database_not_provisioned",
  "branch_not_found",
  "rate_limited",
  "service_unavailable",
] as const

export const sql = area(
  "sql",
  {
    title: "SQL over HTTP",
    summary: "SQL statements with parameters, single, in batches and in transactions, and the query log",
    project: "required",
    belongs: "project",
    envelope: "bare",
  },
  {
    execute: {
      id: "executeSql",
      http: "POST /api/v1/sql",
      summary: "Run one SQL statement",
      description:
        "Read-only keys, and keys with `database:read` alone, may SELECT, SHOW and EXPLAIN; such statements run as a role " +
        "that cannot write, in a read-only transaction that is rolled back. They do not create a database: where the project has " +
        "none yet, the reply is 404. Row-level security applies to that role: " +
        "rows that it may not see are not shown. Session state (settings, temporary tables, locks, LISTEN) ends with the " +
        "request, and a transaction cannot stay open: use the batch. With `Accept: application/x-ndjson` rows are streamed, " +
        "one JSON text per line: `{columns}`, then each row, then `{row_count, command, truncated, meta}` or `{error}`; there " +
        "is no limit of rows then. Requests of Neon's serverless driver, recognized by their `Neon-` headers, get replies in " +
        "its format.",
      scope: SCOPE,
      effect: "read-or-write",
      risk: "by-input",
      body: T.Object({
        sql: T.Optional(Sql),
        params: T.Optional(Params),
        ...target,
        ...options,
        queries: T.Optional(
          T.Array(NeonQuery, {
            maxItems: SQL_BATCH_MAX,
            description: "A transaction in the form of Neon's serverless driver; only with its headers",
          }),
        ),
      }),
      aliases: { query: "sql", parameters: "params" },
      textAsJson: true,
      bodyBytesMax: 16 * MIB,
      replies: {
        200: T.Object({
          ...resultFields,
          request_id: T.String({ description: "Names this request in logs" }),
        }),
      },
      faults: [
        ...REACH_FAULTS,
        "invalid_sql",
        "query_timeout",
        "key_read_only",
        "missing_parameter",
        "approval_not_possible",
      ],
      meters: ["sql_statements"],
      example: { sql: "SELECT $1::int + 1 AS next", params: [41] },
    },
    batch: {
      id: "batchSql",
      http: "POST /api/v1/sql/batch",
      summary: "Run several SQL statements",
      description:
        "Statements run in order and independently: one that fails does not stop the others unless `stop_on_error` is true; " +
        "its result is the error. Only when the database cannot be reached twice in a row, the rest is not run and " +
        "has no result. With `transaction` either all statements take effect or none, as `committed` says, and after a " +
        "failure every result says what happened to its statement.",
      scope: SCOPE,
      effect: "read-or-write",
      risk: "by-input",
      body: T.Object({
        statements: T.Array(T.Object({ sql: Sql, params: T.Optional(Params) }), {
          minItems: 1,
          maxItems: SQL_BATCH_MAX,
          description: "Statements, in the order in which they run",
        }),
        transaction: T.Optional(
          T.Boolean({ description: "Run all in one transaction; false when left out" }),
        ),
        isolation_level: T.Optional(
          OneOf(["read uncommitted", "read committed", "repeatable read", "serializable"], {
            description: "Isolation level of the transaction; PostgreSQL's default when left out",
          }),
        ),
        deferrable: T.Optional(
          T.Boolean({
            description:
              "With `serializable` and `read_only`: wait for a moment at which the transaction cannot fail; false when left out",
          }),
        ),
        stop_on_error: T.Optional(
          T.Boolean({
            description: "Without `transaction`: stop at the first statement that fails; false when left out",
          }),
        ),
        ...target,
        ...options,
      }),
      bodyBytesMax: 16 * MIB,
      replies: {
        200: T.Object({
          results: T.Array(BatchResult, { description: "One result for each statement, in order" }),
          committed: Nullable(T.Boolean({ description: "null without `transaction`" })),
          request_id: T.String({ description: "Names this request in logs" }),
        }),
      },
      faults: REACH_FAULTS,
      meters: ["sql_statements"],
      example: { statements: [{ sql: "SELECT 1 AS one" }, { sql: "SELECT $1::text AS two", params: ["2"] }] },
    },
    listQueryLogs: {
      id: "listQueryLogs",
      http: "GET /api/v1/query-logs/{tenant_id}",
      summary: "List the query log: statements that were run",
      description:
        "Newest first, over HTTP and over PostgreSQL connections, for seven days. Constants are not stored. When statements come " +
        "faster than they can be recorded, some are left out.",
      scope: SCOPE,
      effect: "read",
      envelope: "data",
      params: T.Object({ tenant_id: Id }),
      query: T.Object({
        database_id: T.Optional(described(Id, "Only statements of this database")),
        branch_id: T.Optional(described(Id, "Only statements of this branch")),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: QUERY_LOG_LIMIT_MAX,
            default: QUERY_LOG_LIMIT_DEFAULT,
            description: "Largest number of entries",
          }),
        ),
      }),
      replies: { 200: T.Array(LogEntry) },
    },
    ...neonSpecs,
  },
)
