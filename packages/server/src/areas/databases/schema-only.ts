import pg from "pg"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"

/** Tables of the tenant that hold rows of their own, extensions' configuration left alone. */
const TABLES = `
  SELECT n.nspname AS schema, c.relname AS name
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'svc_internal')
    AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`

/** Empties every table of a fresh branch: all at once, because foreign keys refer to and fro. */
export const schemaOnly = (sessions: Sessions, branch: Target): Promise<void> =>
  sessions.use(branch, "owner", async ({ client }) => {
    const { rows } = await client.query<{ schema: string; name: string }>(TABLES)
    if (rows.length === 0) return
    const names = rows.map(
      ({ schema, name }) => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`,
    )
    await client.query(`TRUNCATE ${names.join(", ")} RESTART IDENTITY`)
  })
