import { area, T } from "./dsl.ts"
import { Id, Nullable, OneOf } from "./types.ts"

/** Rows of one reply; what lies beyond is left out, and `truncated` says so. */
export const SCHEMA_TABLES_MAX = 5_000
export const SCHEMA_COLUMNS_MAX = 50_000
export const SCHEMA_SEARCH_LIMIT_DEFAULT = 200
const SEARCH_LIMIT_MAX = 1_000
/** Columns below this confidence are not reported unless asked for. */
export const PII_CONFIDENCE_DEFAULT = 0.5

const READ = ["database:read", "database:query"] as const
const FAULTS = [
  "database_not_found",
  "database_not_provisioned",
  "branch_not_found",
  "query_timeout",
  "service_unavailable",
] as const

/** PostgreSQL cuts names after 63 bytes. */
const Identifier = T.String({ minLength: 1, maxLength: 63 })
const Truncated = T.Boolean({ description: "There is more than the reply holds" })
const Count = T.Integer({ minimum: 0 })

const Definition = Nullable(T.String({ description: "As SQL; null while another session holds the table" }))

const target = {
  database_id: T.Optional(Id),
  branch_id: T.Optional(Id),
}

const filters = {
  ...target,
  schema: T.Optional(Identifier),
  include_extensions: T.Optional(T.Boolean({ description: "Also what extensions brought" })),
  include_partitions: T.Optional(T.Boolean({ description: "Also the partitions of partitioned tables" })),
}

const Column = T.Object({
  id: T.String({ description: "`table_id.ordinal_position`" }),
  table_id: T.Integer(),
  schema: T.String(),
  table: T.String(),
  ordinal_position: T.Integer(),
  name: T.String(),
  default_value: Nullable(T.String({ description: "An SQL expression; that of a generated column too" })),
  data_type: T.String({ description: "As in information_schema, where arrays are `ARRAY`" }),
  format: T.String({ description: "PostgreSQL's short name of the type, as `int4` or `_text`" }),
  full_type: T.String({ description: "The type as one writes it, as `numeric(10,2)` or `text[]`" }),
  is_identity: T.Boolean(),
  identity_generation: Nullable(OneOf(["ALWAYS", "BY DEFAULT"])),
  is_generated: T.Boolean(),
  generation: Nullable(OneOf(["STORED", "VIRTUAL"])),
  is_nullable: T.Boolean(),
  is_updatable: T.Boolean(),
  is_unique: T.Boolean({ description: "No two rows have the same value in this column alone" }),
  enums: T.Array(T.String()),
  comment: Nullable(T.String()),
})

const Relationship = T.Object({
  id: T.Integer({ description: "Of the constraint; a key of several columns has one row for each" }),
  constraint_name: T.String(),
  position: T.Integer(),
  source_schema: T.String(),
  source_table_name: T.String(),
  source_column_name: T.String(),
  target_table_schema: T.String(),
  target_table_name: T.String(),
  target_column_name: T.String(),
  on_update: T.String(),
  on_delete: T.String(),
  is_temporal: T.Boolean({ description: "Matches periods (`PERIOD`), PostgreSQL 18" }),
  is_enforced: T.Boolean(),
})

const relationFields = {
  id: T.Integer(),
  schema: T.String(),
  name: T.String(),
  type: OneOf(["table", "partitioned_table", "foreign_table", "view", "materialized_view"]),
  comment: Nullable(T.String()),
  columns: T.Optional(T.Array(Column)),
}

const tableFields = {
  ...relationFields,
  rls_enabled: T.Boolean(),
  rls_forced: T.Boolean(),
  bytes: Nullable(T.Integer({ description: "With indexes; null while another session holds the table" })),
  size: Nullable(T.String()),
  live_rows_estimate: Count,
  dead_rows_estimate: Count,
  partition_of: Nullable(T.Object({ schema: T.String(), name: T.String() })),
  partition_count: Count,
  primary_keys: T.Array(
    T.Object({ schema: T.String(), table_name: T.String(), name: T.String(), table_id: T.Integer() }),
  ),
  relationships: T.Array(Relationship),
}

const Table = T.Object(tableFields)
const View = T.Object({ ...relationFields, is_updatable: T.Boolean() })

const Type = T.Object({
  id: T.Integer(),
  name: T.String(),
  schema: T.String(),
  format: T.String(),
  kind: OneOf(["enum", "domain", "composite", "range", "multirange", "base"]),
  base_type: Nullable(T.String({ description: "What a domain restricts, or what a range is of" })),
  enums: T.Array(T.String()),
  attributes: T.Array(T.Object({ name: T.String(), type: T.String() })),
  comment: Nullable(T.String()),
})

const TableDetails = T.Object({
  ...tableFields,
  columns: T.Array(Column),
  is_updatable: T.Boolean(),
  definition: Nullable(T.String({ description: "The query of a view" })),
  partition_key: Nullable(T.String()),
  partition_bound: Nullable(T.String()),
  indexes: T.Array(
    T.Object({
      name: T.String(),
      definition: Definition,
      is_unique: T.Boolean(),
      is_primary: T.Boolean(),
      is_valid: T.Boolean(),
      size_bytes: Nullable(T.Integer()),
      scans: Count,
    }),
  ),
  constraints: T.Array(
    T.Object({
      name: T.String(),
      type: OneOf(["primary_key", "unique", "foreign_key", "check", "exclusion", "not_null"]),
      definition: Definition,
      is_validated: T.Boolean(),
      is_enforced: T.Boolean(),
    }),
  ),
  triggers: T.Array(T.Object({ name: T.String(), definition: Definition, is_enabled: T.Boolean() })),
  policies: T.Array(
    T.Object({
      name: T.String(),
      command: OneOf(["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]),
      is_permissive: T.Boolean(),
      roles: T.Array(T.String()),
      using: Nullable(T.String()),
      check: Nullable(T.String()),
    }),
  ),
})

const PiiColumn = T.Object({
  schema: T.String(),
  table: T.String(),
  column: T.String(),
  data_type: T.String(),
  category: T.String({ description: "As `contact`, `name`, `financial`, `government_id` or `credential`" }),
  entity_type: T.String({ description: "As `EMAIL_ADDRESS`, `PERSON` or `CREDIT_CARD`" }),
  direct: T.Boolean({ description: "Such a value alone can tell who the person is" }),
  confidence: T.Number({ minimum: 0, maximum: 1 }),
  evidence: T.Array(
    T.String({ description: "`name`, `type`, `pattern:0.98` (the share of sampled values), and the like" }),
  ),
  sampled_rows: Count,
})

export const schema = area(
  "schema",
  {
    title: "Schema",
    summary: "What is in a database: tables, columns, types, keys, and where personal data lies",
    project: "required",
    belongs: "project",
  },
  {
    get: {
      id: "getSchema",
      http: "GET /api/v1/schema",
      summary: "List tables, views and types",
      description:
        "Everything but PostgreSQL's own schemas. Partitions and what extensions brought are left out unless asked for.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...filters,
        include_columns: T.Optional(T.Boolean({ description: "True unless said otherwise" })),
      }),
      replies: {
        200: T.Object({
          tables: T.Array(Table),
          views: T.Array(View),
          types: T.Array(Type),
          truncated: Truncated,
        }),
      },
      faults: FAULTS,
    },
    searchColumns: {
      id: "searchSchemaColumns",
      http: "GET /api/v1/schema/columns",
      summary: "Find columns by a part of their name",
      description:
        "Upper and lower case and `_` make no difference, and each word must be found. `users.email` also asks for " +
        "the table. The closest names come first; without `q`, all columns by table.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...filters,
        q: T.Optional(T.String({ maxLength: 200 })),
        limit: T.Optional(
          T.Integer({ minimum: 1, maximum: SEARCH_LIMIT_MAX, default: SCHEMA_SEARCH_LIMIT_DEFAULT }),
        ),
      }),
      replies: { 200: T.Object({ columns: T.Array(Column), truncated: Truncated }) },
      faults: FAULTS,
    },
    pii: {
      id: "listPiiColumns",
      http: "GET /api/v1/schema/pii",
      summary: "List the columns that likely hold personal data",
      description:
        "Judged by names, types and a sample of values. No value is ever part of the reply or kept. Tables under row " +
        "level security, views and foreign tables are judged without a sample.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...target,
        schema: T.Optional(Identifier),
        min_confidence: T.Optional(T.Number({ minimum: 0, maximum: 1, default: PII_CONFIDENCE_DEFAULT })),
        sample: T.Optional(T.Boolean({ description: "False: judge by names and types, and read no rows" })),
      }),
      replies: {
        200: T.Object({
          columns: T.Array(PiiColumn),
          scanned_tables: Count,
          sampled_tables: Count,
          truncated: T.Boolean({
            description: "Tables were left out, or judged without a sample, for there are too many of them",
          }),
        }),
      },
      faults: FAULTS,
    },
    relationships: {
      id: "getSchemaRelationships",
      http: "GET /api/v1/schema/relationships",
      summary: "List the foreign keys",
      scope: READ,
      effect: "read",
      query: T.Object({ ...target, schema: T.Optional(Identifier) }),
      replies: { 200: T.Object({ relationships: T.Array(Relationship), truncated: Truncated }) },
      faults: FAULTS,
    },
    table: {
      id: "getTableSchema",
      http: "GET /api/v1/schema/table/{name}",
      summary: "Describe a table or view",
      description:
        "`name` is the name as it is, or `schema.name`, in quotes where it needs them. Without a schema, `public` goes " +
        "before the others.",
      scope: READ,
      effect: "read",
      params: T.Object({ name: T.String({ minLength: 1, maxLength: 300 }) }),
      query: T.Object({ ...target, schema: T.Optional(Identifier) }),
      replies: { 200: TableDetails },
      faults: ["table_not_found", "invalid_parameter", ...FAULTS],
    },
  },
)
