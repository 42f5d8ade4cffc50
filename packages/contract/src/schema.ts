import { area, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf } from "./types.ts"

/** Largest number of rows in one reply; if there are more, `truncated` is true. */
export const SCHEMA_TABLES_MAX = 5_000
export const SCHEMA_COLUMNS_MAX = 50_000
export const SCHEMA_SEARCH_LIMIT_DEFAULT = 200
const SEARCH_LIMIT_MAX = 1_000
/** Columns below this confidence are not reported by default. */
export const PII_CONFIDENCE_DEFAULT = 0.5

const READ = ["database:read", "database:query"] as const
const FAULTS = [
  "database_not_found",
  "database_not_provisioned",
  "branch_not_found",
  "query_timeout",
  "service_unavailable",
] as const

/** PostgreSQL truncates names to 63 bytes. */
const Identifier = T.String({ minLength: 1, maxLength: 63, description: "Name of the schema" })
const Truncated = T.Boolean({ description: "True if there is more than the reply contains" })
const Count = T.Integer({ minimum: 0 })

const Definition = Nullable(
  T.String({ description: "As SQL; null while another session holds an exclusive lock" }),
)

const target = {
  database_id: T.Optional(described(Id, "Database; the project's default when left out")),
  branch_id: T.Optional(described(Id, "Branch; the default branch when left out")),
}

const filters = {
  ...target,
  schema: T.Optional(Identifier),
  include_extensions: T.Optional(
    T.Boolean({ description: "Include objects of extensions; false when left out" }),
  ),
  include_partitions: T.Optional(
    T.Boolean({ description: "Include the partitions of partitioned tables; false when left out" }),
  ),
}

const Column = T.Object({
  id: T.String({ description: "`table_id.ordinal_position`" }),
  table_id: T.Integer({ description: "OID of the table" }),
  schema: T.String({ description: "Schema of the table" }),
  table: T.String({ description: "Name of the table" }),
  ordinal_position: T.Integer({ description: "Position in the table, from 1" }),
  name: T.String(),
  default_value: Nullable(
    T.String({ description: "Default or generation expression in SQL; null for none" }),
  ),
  data_type: T.String({ description: "Type as in information_schema, where arrays are `ARRAY`" }),
  format: T.String({ description: "PostgreSQL's short name of the type, as `int4` or `_text`" }),
  full_type: T.String({ description: "The type as one writes it, as `numeric(10,2)` or `text[]`" }),
  is_identity: T.Boolean({ description: "True for GENERATED … AS IDENTITY columns" }),
  identity_generation: Nullable(OneOf(["ALWAYS", "BY DEFAULT"]), {
    description: "Kind of identity column; null for other columns",
  }),
  is_generated: T.Boolean({ description: "True for columns that are computed from others" }),
  generation: Nullable(OneOf(["STORED", "VIRTUAL"]), {
    description: "Kind of generated column; null for other columns",
  }),
  is_nullable: T.Boolean({ description: "True if it may be NULL" }),
  is_updatable: T.Boolean({ description: "True if UPDATE can change it" }),
  is_unique: T.Boolean({ description: "True if a unique index covers this column alone" }),
  enums: T.Array(T.String(), { description: "Values of an enum type; empty for other types" }),
  comment: Nullable(T.String(), { description: "From COMMENT ON; null for none" }),
})

const Relationship = T.Object({
  id: T.Integer({ description: "OID of the constraint; a key of several columns has one row for each" }),
  constraint_name: T.String({ description: "Name of the foreign key" }),
  position: T.Integer({ description: "Position of the column in the key, from 1" }),
  source_schema: T.String({ description: "Schema of the referencing table" }),
  source_table_name: T.String({ description: "Referencing table" }),
  source_column_name: T.String({ description: "Referencing column" }),
  target_table_schema: T.String({ description: "Schema of the referenced table" }),
  target_table_name: T.String({ description: "Referenced table" }),
  target_column_name: T.String({ description: "Referenced column" }),
  on_update: T.String({
    description: "What happens when the referenced row changes: `CASCADE`, `NO ACTION`, …",
  }),
  on_delete: T.String({
    description: "What happens when the referenced row is deleted: `CASCADE`, `NO ACTION`, …",
  }),
  is_temporal: T.Boolean({ description: "Matches periods (`PERIOD`), PostgreSQL 18" }),
  is_enforced: T.Boolean({ description: "False for NOT ENFORCED constraints" }),
})

const relationFields = {
  id: T.Integer({ description: "OID" }),
  schema: T.String({ description: "Schema it is in" }),
  name: T.String(),
  type: OneOf(["table", "partitioned_table", "foreign_table", "view", "materialized_view"], {
    description: "Kind of relation",
  }),
  comment: Nullable(T.String(), { description: "From COMMENT ON; null for none" }),
  columns: T.Optional(
    T.Array(Column, { description: "Columns in order; absent with `include_columns=false`" }),
  ),
}

const tableFields = {
  ...relationFields,
  rls_enabled: T.Boolean({ description: "True if row-level security applies" }),
  rls_forced: T.Boolean({ description: "True if row-level security applies to the owner too" }),
  bytes: Nullable(
    T.Integer({ description: "Size with indexes; null while another session holds an exclusive lock" }),
  ),
  size: Nullable(T.String(), {
    description: "`bytes` for people, as `24 MB`; null while another session holds an exclusive lock",
  }),
  live_rows_estimate: described(Count, "Estimated number of rows"),
  dead_rows_estimate: described(
    Count,
    "Estimated number of deleted row versions that VACUUM has not removed yet",
  ),
  partition_of: Nullable(
    T.Object({ schema: T.String({ description: "Schema of that table" }), name: T.String() }),
    {
      description: "Partitioned table that it is a partition of; null for other tables",
    },
  ),
  partition_count: described(Count, "Number of its partitions; 0 for tables without"),
  primary_keys: T.Array(
    T.Object({
      schema: T.String({ description: "Schema of the table" }),
      table_name: T.String({ description: "Name of the table" }),
      name: T.String(),
      table_id: T.Integer({ description: "OID of the table" }),
    }),
    { description: "Columns of the primary key" },
  ),
  relationships: T.Array(Relationship, { description: "Foreign keys from and to the table" }),
}

const Table = T.Object(tableFields)
const View = T.Object({
  ...relationFields,
  is_updatable: T.Boolean({ description: "True if INSERT, UPDATE and DELETE work on it" }),
})

const Type = T.Object({
  id: T.Integer({ description: "OID" }),
  name: T.String(),
  schema: T.String({ description: "Schema it is in" }),
  format: T.String({ description: "The type as one writes it" }),
  kind: OneOf(["enum", "domain", "composite", "range", "multirange", "base"], {
    description: "Kind of type",
  }),
  base_type: Nullable(
    T.String({ description: "Type that a domain restricts or a range is made of; null for others" }),
  ),
  enums: T.Array(T.String(), { description: "Values of an enum, in order; empty for other types" }),
  attributes: T.Array(T.Object({ name: T.String(), type: T.String({ description: "Type of the field" }) }), {
    description: "Fields of a composite type; empty for other types",
  }),
  comment: Nullable(T.String(), { description: "From COMMENT ON; null for none" }),
})

const TableDetails = T.Object({
  ...tableFields,
  columns: T.Array(Column, { description: "Columns in order" }),
  is_updatable: T.Boolean({ description: "True if INSERT, UPDATE and DELETE work on it" }),
  definition: Nullable(T.String({ description: "Query of a view; null for tables" })),
  partition_key: Nullable(T.String(), {
    description: "PARTITION BY clause of a partitioned table; null for others",
  }),
  partition_bound: Nullable(T.String(), { description: "FOR VALUES clause of a partition; null for others" }),
  indexes: T.Array(
    T.Object({
      name: T.String(),
      definition: Definition,
      is_unique: T.Boolean({ description: "True for unique indexes" }),
      is_primary: T.Boolean({ description: "True for the index of the primary key" }),
      is_valid: T.Boolean({ description: "False while it is being built, and after that failed" }),
      size_bytes: Nullable(T.Integer(), {
        description: "Size; null while another session holds an exclusive lock",
      }),
      scans: described(Count, "How often it was used since statistics were reset"),
    }),
    { description: "Indexes of the table" },
  ),
  constraints: T.Array(
    T.Object({
      name: T.String(),
      type: OneOf(["primary_key", "unique", "foreign_key", "check", "exclusion", "not_null"], {
        description: "Kind of constraint",
      }),
      definition: Definition,
      is_validated: T.Boolean({ description: "False for NOT VALID constraints" }),
      is_enforced: T.Boolean({ description: "False for NOT ENFORCED constraints" }),
    }),
    { description: "Constraints of the table" },
  ),
  triggers: T.Array(
    T.Object({
      name: T.String(),
      definition: Definition,
      is_enabled: T.Boolean({ description: "False after DISABLE TRIGGER" }),
    }),
    { description: "Triggers of the table" },
  ),
  policies: T.Array(
    T.Object({
      name: T.String(),
      command: OneOf(["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"], {
        description: "Command that the policy applies to",
      }),
      is_permissive: T.Boolean({ description: "True for permissive policies, false for restrictive ones" }),
      roles: T.Array(T.String(), { description: "Roles that the policy applies to" }),
      using: Nullable(T.String(), { description: "USING expression; null for none" }),
      check: Nullable(T.String(), { description: "WITH CHECK expression; null for none" }),
    }),
    { description: "Policies of row-level security" },
  ),
})

const PiiColumn = T.Object({
  schema: T.String({ description: "Schema of the table" }),
  table: T.String({ description: "Name of the table" }),
  column: T.String({ description: "Name of the column" }),
  data_type: T.String({ description: "PostgreSQL type" }),
  category: T.String({
    description: "Kind of data: `contact`, `name`, `financial`, `government_id` or `credential`",
  }),
  entity_type: T.String({ description: "Type of value: `EMAIL_ADDRESS`, `PERSON` or `CREDIT_CARD`" }),
  direct: T.Boolean({ description: "True if a value alone can identify a person" }),
  confidence: T.Number({
    minimum: 0,
    maximum: 1,
    description: "How likely the column holds such data, from 0 to 1",
  }),
  evidence: T.Array(T.String(), {
    description:
      "What the classification rests on: `name`, `type`, `pattern:0.98` (the share of sampled values) and the like",
  }),
  sampled_rows: described(Count, "Rows whose value was looked at"),
})

export const schema = area(
  "schema",
  {
    title: "Schema",
    summary: "Tables, columns, types and keys of a database, and columns with personal data",
    project: "required",
    belongs: "project",
  },
  {
    get: {
      id: "getSchema",
      http: "GET /api/v1/schema",
      summary: "List tables, views and types",
      description:
        "All schemas but PostgreSQL's own. Partitions and objects of extensions are left out unless requested.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...filters,
        include_columns: T.Optional(T.Boolean({ description: "Include the columns; true when left out" })),
      }),
      replies: {
        200: T.Object({
          tables: T.Array(Table, { description: "Tables by schema and name" }),
          views: T.Array(View, { description: "Views by schema and name" }),
          types: T.Array(Type, { description: "Types that were created in the database" }),
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
        "Case and `_` are ignored, and each word must match. `users.email` also matches " +
        "the table. The closest names come first; without `q`, all columns by table.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...filters,
        q: T.Optional(
          T.String({ maxLength: 200, description: "Words to look for; all columns when left out" }),
        ),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: SEARCH_LIMIT_MAX,
            default: SCHEMA_SEARCH_LIMIT_DEFAULT,
            description: "Largest number of columns",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          columns: T.Array(Column, { description: "Matching columns, the closest first" }),
          truncated: Truncated,
        }),
      },
      faults: FAULTS,
    },
    pii: {
      id: "listPiiColumns",
      http: "GET /api/v1/schema/pii",
      summary: "List the columns that likely hold personal data",
      description:
        "Columns are classified by names, types and a sample of values. No value is returned or stored. Tables with row-" +
        "level security, views and foreign tables are classified without a sample.",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...target,
        schema: T.Optional(Identifier),
        min_confidence: T.Optional(
          T.Number({
            minimum: 0,
            maximum: 1,
            default: PII_CONFIDENCE_DEFAULT,
            description: "Only columns of at least this confidence, from 0 to 1",
          }),
        ),
        sample: T.Optional(
          T.Boolean({
            description: "False: classify by names and types only, and read no rows; true when left out",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          columns: T.Array(PiiColumn, { description: "Columns that likely hold personal data" }),
          scanned_tables: described(Count, "Tables that were classified"),
          sampled_tables: described(Count, "Tables of these from which values were read"),
          truncated: T.Boolean({
            description:
              "True if tables were left out or classified without a sample because there are too many",
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
      replies: {
        200: T.Object({
          relationships: T.Array(Relationship, { description: "Foreign keys, one row for each column" }),
          truncated: Truncated,
        }),
      },
      faults: FAULTS,
    },
    table: {
      id: "getTableSchema",
      http: "GET /api/v1/schema/table/{name}",
      summary: "Describe a table or view",
      description:
        "`name` is the exact name, or `schema.name`, quoted where necessary. Without a schema, `public` is searched " +
        "first.",
      scope: READ,
      effect: "read",
      params: T.Object({ name: T.String({ minLength: 1, maxLength: 300 }) }),
      query: T.Object({ ...target, schema: T.Optional(Identifier) }),
      replies: { 200: TableDetails },
      faults: ["table_not_found", "invalid_parameter", ...FAULTS],
    },
  },
)
