/** Conditions that statements on the catalogs share. `n` is pg_namespace. */

/** PostgreSQL's own schemas and the platform's; no tenant can make one whose name begins with `pg_`. */
export const visibleSchema =
  "n.nspname NOT LIKE 'pg|_%' ESCAPE '|' AND n.nspname <> ALL (ARRAY['information_schema', 'svc_internal'])"

/** Whether an extension brought the object. */
export const ofExtension = (catalog: "pg_class" | "pg_type", id: string): string =>
  `EXISTS (SELECT FROM pg_depend AS d
    WHERE d.classid = '${catalog}'::regclass AND d.objid = ${id} AND d.deptype = 'e')`
