/** Parts of catalog queries. They are read with nothing but pg_catalog on the search path. */

const isOfUsers = (schema: string) => `${schema}.nspname NOT LIKE 'pg\\_%'
    AND ${schema}.nspname NOT IN ('information_schema', 'svc_internal')`

const isOfExtension = (catalog: string, oid: string) => `EXISTS (
    SELECT FROM pg_depend AS part
    WHERE part.classid = '${catalog}'::regclass AND part.objid = ${oid} AND part.deptype = 'e')`

/** Tables of the tenant's own, partitioned ones and partitions included; `name` is quoted where it must be. */
export const TABLES = `(
  SELECT class.oid, class.relname, class.relkind, class.relispartition, class.reltuples, class.relpages,
    class.relpersistence, class.relrowsecurity, class.reloptions, namespace.nspname,
    format('%I.%I', namespace.nspname, class.relname) AS name
  FROM pg_class AS class
  JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p') AND ${isOfUsers("namespace")}
    AND NOT ${isOfExtension("pg_class", "class.oid")}
)`

/** Indexes of those tables. */
export const INDEXES = `(
  SELECT index.*, on_table.name AS table_name, on_table.relkind AS table_kind, on_table.relispartition,
    class.relname AS index_relname, format('%I.%I', on_table.nspname, class.relname) AS name,
    class.relkind AS index_kind, access.amname, class.relpages AS index_pages,
    EXISTS (SELECT FROM pg_constraint AS held WHERE held.conindid = index.indexrelid
      AND held.contype IN ('p', 'u', 'x')) AS is_constraint,
    EXISTS (SELECT FROM pg_inherits AS attached WHERE attached.inhrelid = index.indexrelid) AS is_attached
  FROM pg_index AS index
  JOIN ${TABLES} AS on_table ON on_table.oid = index.indrelid
  JOIN pg_class AS class ON class.oid = index.indexrelid
  JOIN pg_am AS access ON access.oid = class.relam
)`

export const FUNCTIONS = `(
  SELECT function.*, namespace.nspname,
    format('%I.%I(%s)', namespace.nspname, function.proname, pg_get_function_identity_arguments(function.oid)) AS name
  FROM pg_proc AS function
  JOIN pg_namespace AS namespace ON namespace.oid = function.pronamespace
  WHERE ${isOfUsers("namespace")} AND NOT ${isOfExtension("pg_proc", "function.oid")}
)`

/** The columns of an array of attribute numbers, in its order, quoted and separated by commas. */
export const columnsOf = (table: string, numbers: string): string => `(
  SELECT string_agg(format('%I', attribute.attname), ', ' ORDER BY place.position)
  FROM unnest(${numbers}) WITH ORDINALITY AS place(number, position)
  JOIN pg_attribute AS attribute ON attribute.attrelid = ${table} AND attribute.attnum = place.number)`
