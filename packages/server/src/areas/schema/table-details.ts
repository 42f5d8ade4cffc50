import { fault } from "../../kernel/fault.ts"
import { type Column, columnsOf } from "./columns.ts"
import { type Client, rowsOf } from "./inspection.ts"
import { type Depth, type Relation, relationsOf } from "./relations.ts"
import { type Relationship, relationshipsOf } from "./relationships.ts"
import { readTableName, type TableName } from "./table-name.ts"
import { visibleSchema } from "./visible.ts"

/** PostgreSQL's own limit of columns of a table is 1,600; of the rest nobody has this many. */
const PARTS_MAX = 2_000

interface Index {
  name: string
  definition: string | null
  is_unique: boolean
  is_primary: boolean
  is_valid: boolean
  size_bytes: number | null
  scans: number
}

interface Constraint {
  name: string
  type: "primary_key" | "unique" | "foreign_key" | "check" | "exclusion" | "not_null"
  definition: string | null
  is_validated: boolean
  is_enforced: boolean
}

interface Policy {
  name: string
  command: "ALL" | "SELECT" | "INSERT" | "UPDATE" | "DELETE"
  is_permissive: boolean
  roles: string[]
  using: string | null
  check: string | null
}

export interface TableDetails extends Relation {
  readonly columns: Column[]
  readonly relationships: Relationship[]
  readonly definition: string | null
  readonly partition_key: string | null
  readonly partition_bound: string | null
  readonly indexes: Index[]
  readonly constraints: Constraint[]
  readonly triggers: { name: string; definition: string | null; is_enabled: boolean }[]
  readonly policies: Policy[]
}

const found = `
  SELECT c.oid::bigint AS id, n.nspname AS schema, w.place
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (schema, name, place)
    JOIN pg_class AS c ON c.relname = w.name
    JOIN pg_namespace AS n ON n.oid = c.relnamespace AND (w.schema IS NULL OR n.nspname = w.schema)
  WHERE c.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']::"char"[]) AND ${visibleSchema}
  ORDER BY w.place, n.nspname <> 'public', n.nspname COLLATE "C"
  LIMIT 10`

/** The oid of the table that the caller means. */
const findTable = async (client: Client, text: string, schema: string | undefined): Promise<number> => {
  const readings: TableName[] = readTableName(text, schema)
  const columns = [readings.map(reading => reading.schema ?? null), readings.map(({ name }) => name)]
  const matches = await rowsOf<{ id: number; schema: string; place: number }>(client, found, columns)
  const [first, ...others] = matches
  if (!first) throw fault("table_not_found", { name: text })
  const rivals = others.filter(({ place }) => place === first.place)
  if (first.schema !== "public" && rivals.length > 0)
    throw fault("invalid_parameter", {
      reason: `tables of this name are in several schemas; give \`schema\`, as ${first.schema}`,
    })
  return first.id
}

/** Writing an expression down takes a lock on its table, for the names of its columns. `$2`: whether that may wait. */
const unlessLocked = (expression: string): string => `CASE WHEN $2::boolean THEN ${expression} END`

const indexes = `
  SELECT ic.relname AS name, ${unlessLocked("pg_get_indexdef(i.indexrelid)")} AS definition, i.indisunique AS is_unique,
    i.indisprimary AS is_primary, i.indisvalid AS is_valid,
    ${unlessLocked("pg_relation_size(i.indexrelid)")} AS size_bytes,
    pg_stat_get_numscans(i.indexrelid) AS scans
  FROM pg_index AS i JOIN pg_class AS ic ON ic.oid = i.indexrelid
  WHERE i.indrelid = $1::oid
  ORDER BY i.indisprimary DESC, ic.relname COLLATE "C"
  LIMIT $3`

const constraints = `
  SELECT con.conname AS name,
    CASE con.contype WHEN 'p' THEN 'primary_key' WHEN 'u' THEN 'unique' WHEN 'f' THEN 'foreign_key'
      WHEN 'c' THEN 'check' WHEN 'x' THEN 'exclusion' ELSE 'not_null' END AS type,
    ${unlessLocked("pg_get_constraintdef(con.oid)")} AS definition, con.convalidated AS is_validated,
    coalesce((to_jsonb(con) ->> 'conenforced')::boolean, true) AS is_enforced
  FROM pg_constraint AS con
  WHERE con.conrelid = $1::oid AND con.contype = ANY (ARRAY['p', 'u', 'f', 'c', 'x', 'n']::"char"[])
  ORDER BY con.contype <> 'p', con.conname COLLATE "C"
  LIMIT $3`

const triggers = `
  SELECT tgname AS name, ${unlessLocked("pg_get_triggerdef(oid)")} AS definition, tgenabled <> 'D' AS is_enabled
  FROM pg_trigger WHERE tgrelid = $1::oid AND NOT tgisinternal
  ORDER BY tgname COLLATE "C"
  LIMIT $3`

const policies = `
  SELECT p.polname AS name,
    CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
      ELSE 'ALL' END AS command,
    p.polpermissive AS is_permissive,
    CASE WHEN p.polroles = ARRAY[0::oid] THEN json_build_array('public')
      ELSE (SELECT json_agg(r.rolname ORDER BY r.rolname) FROM pg_roles AS r WHERE r.oid = ANY (p.polroles)) END
      AS roles,
    ${unlessLocked("pg_get_expr(p.polqual, p.polrelid)")} AS using,
    ${unlessLocked("pg_get_expr(p.polwithcheck, p.polrelid)")} AS check
  FROM pg_policy AS p WHERE p.polrelid = $1::oid
  ORDER BY p.polname COLLATE "C"
  LIMIT $3`

const shape = `
  SELECT CASE WHEN c.relkind = ANY (ARRAY['v', 'm']::"char"[]) THEN ${unlessLocked("pg_get_viewdef(c.oid, true)")} END
      AS definition,
    CASE WHEN c.relkind = 'p' THEN ${unlessLocked("pg_get_partkeydef(c.oid)")} END AS partition_key,
    ${unlessLocked("pg_get_expr(c.relpartbound, c.oid)")} AS partition_bound
  FROM pg_class AS c WHERE c.oid = $1::oid`

interface Shape {
  readonly definition: string | null
  readonly partition_key: string | null
  readonly partition_bound: string | null
}

/** Everything about one table or view. Throws `table_not_found`. */
export const describeTable = async (
  client: Client,
  wanted: { readonly name: string; readonly schema?: string | undefined },
  depth: Depth,
): Promise<TableDetails> => {
  const id = await findTable(client, wanted.name, wanted.schema)
  const locking = depth === "locking"
  const only = { ids: [id], rowsMax: 1, includeExtensions: true, includePartitions: true }
  const [relation] = await relationsOf(client, only, depth)
  const [form] = await rowsOf<Shape>(client, shape, [id, locking])
  if (!relation || !form) throw fault("table_not_found", { name: wanted.name })
  return {
    ...relation,
    ...form,
    columns: await columnsOf(client, { ids: [id], locking, rowsMax: PARTS_MAX }),
    relationships: await relationshipsOf(client, { tableId: id, rowsMax: PARTS_MAX }),
    indexes: await rowsOf(client, indexes, [id, locking, PARTS_MAX]),
    constraints: await rowsOf(client, constraints, [id, locking, PARTS_MAX]),
    triggers: await rowsOf(client, triggers, [id, locking, PARTS_MAX]),
    policies: await rowsOf(client, policies, [id, locking, PARTS_MAX]),
  }
}
