/** The endpoints of Neon's serverless driver: it authenticates by the connection string, without an API key. */
import { MIB, type OperationSpec, T } from "./dsl.ts"
import { NeonQuery, Params, SQL_BATCH_MAX, Sql } from "./sql-fields.ts"

const NeonResult = T.Object(
  {
    command: T.Union([T.String(), T.Null()], {
      description: "`SELECT`, `INSERT`, …; null for an empty statement",
    }),
    rowCount: T.Union([T.Integer(), T.Null()], {
      description: "Rows returned or changed; null for commands that count nothing",
    }),
    rowAsArray: T.Boolean({ description: "Whether rows are arrays" }),
    fields: T.Array(T.Record(T.String(), T.Unknown()), {
      description: "Columns: `name`, `dataTypeID` and the like",
    }),
    rows: T.Array(T.Unknown(), {
      description: "Values as text, as the PostgreSQL protocol sends them, or null",
    }),
  },
  { description: "One result in the format of the driver" },
)

const Flag = (description: string) => T.Optional(T.String({ description: `${description}, if \`true\`` }))

export const neonSpecs = {
  neonQuery: {
    id: "executeNeonSql",
    http: "POST /sql",
    summary: "Run SQL in the format of Neon's serverless driver",
    description:
      "For `neon()` of `@neondatabase/serverless`. The header `Neon-Connection-String` holds the connection string of a " +
      "branch, whose role and password its database checks; a changed password takes effect within a minute. Once authenticated, " +
      "its requests count against the limit of its organization, before that against the limit of its address. Requests " +
      "with a key in `Authorization` go to `/api/v1/sql`.",
    scope: "public",
    effect: "read-or-write",
    project: "none",
    extension: true,
    headers: T.Object({
      "Neon-Connection-String": T.String({ description: "`postgres://role:password@host/database`" }),
      "Neon-Raw-Text-Output": Flag("Values as PostgreSQL writes them"),
      "Neon-Array-Mode": Flag("Rows as arrays"),
      "Neon-Batch-Isolation-Level": T.Optional(
        T.String({ description: "Isolation level of the transaction of `queries`, as `RepeatableRead`" }),
      ),
      "Neon-Batch-Read-Only": Flag("The transaction of `queries` only reads"),
      "Neon-Batch-Deferrable": Flag("The transaction of `queries` is deferrable"),
    }),
    body: T.Object({
      query: T.Optional(Sql),
      params: T.Optional(Params),
      queries: T.Optional(T.Array(NeonQuery, { maxItems: SQL_BATCH_MAX, description: "One transaction" })),
    }),
    textAsJson: true,
    limit: "handler",
    bodyBytesMax: 16 * MIB,
    replies: {
      200: T.Union([
        NeonResult,
        T.Object({
          results: T.Array(NeonResult, { description: "One result for each query of the transaction" }),
        }),
      ]),
    },
    faults: ["invalid_sql", "query_timeout", "missing_parameter", "rate_limited", "service_unavailable"],
  },
  neonSocket: {
    id: "connectNeonSocket",
    http: "GET /v2",
    summary: "Open a PostgreSQL connection over a WebSocket",
    description:
      "For `Pool` and `Client` of `@neondatabase/serverless`. Binary messages hold the bytes of PostgreSQL's protocol, " +
      "wherever they are cut; the server asks for the password in clear, so the WebSocket must be encrypted (wss) unless " +
      "it stays on one machine.",
    scope: "public",
    effect: "read-or-write",
    project: "none",
    extension: true,
    content: { reply: "websocket" },
    messageBytesMax: 16 * MIB,
    replies: { 101: null },
  },
} as const satisfies Record<string, OperationSpec>
