/** What a volume has in it before its tenant comes: roles, and objects of the platform's own. Shared by all drivers. */
import { OWNER_ROLE, OWNER_SESSION_ROLE, READER_ROLE } from "./port.ts"

const ensureRole = (name: string) =>
  `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name} LOGIN; END IF; END $$`

/**
 * What a tenant's database is: `owner` may do everything in it, make roles and databases, watch its own server and
 * install trusted extensions; no superuser, so no file, program or library of the host is in reach. It does not read
 * all settings (pg_monitor would), because some are paths of the host. The platform's own roles have no rights but
 * those of `owner`, and to read what the tenant's roles make.
 */
export const ownerSetup: readonly string[] = [
  `ALTER ROLE ${OWNER_ROLE} CREATEDB CREATEROLE`,
  `GRANT pg_read_all_stats, pg_stat_scan_tables, pg_signal_backend, pg_checkpoint TO ${OWNER_ROLE}`,
]

export const platformRoles: readonly string[] = [
  ensureRole(OWNER_SESSION_ROLE),
  ensureRole(READER_ROLE),
  `GRANT ${OWNER_ROLE} TO ${OWNER_SESSION_ROLE}`,
  `ALTER ROLE ${READER_ROLE} SET default_transaction_read_only = on`,
]

/** The objects of an extension stay, and are the platform's: a tenant's dump need not name the extension. */
const ADOPT = `
  FOR item IN
    SELECT e.extname AS extension, i.type, i.identity
    FROM pg_depend d
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) i
    WHERE d.deptype = 'e' AND e.extname IN ('pg_stat_statements', 'amcheck')
      -- Types of views go with them.
      AND i.type IN ('function', 'view')
  LOOP
    EXECUTE format('ALTER EXTENSION %I DROP %s %s', item.extension, item.type, item.identity);
    EXECUTE format('ALTER EXTENSION plpgsql ADD %s %s', item.type, item.identity);
  END LOOP;
  DROP EXTENSION pg_stat_statements;
  DROP EXTENSION amcheck;`

/** Relations of the tenant's that a command has made, whoever of its roles did. */
const SHOW = `
  CREATE FUNCTION svc_internal.show_to_reader() RETURNS event_trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $show$
  DECLARE made record;
  BEGIN
    FOR made IN
      SELECT DISTINCT object_type = 'schema' AS is_schema, object_identity AS name
      FROM pg_event_trigger_ddl_commands()
      WHERE object_type IN ('schema', 'table', 'view', 'materialized view', 'foreign table', 'sequence')
        AND command_tag !~ '^ALTER' AND coalesce(schema_name, object_identity) !~ '^pg_'
    LOOP
      IF made.is_schema THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO ${READER_ROLE}', made.name);
      ELSIF to_regclass(made.name) IS NOT NULL THEN
        EXECUTE format('GRANT SELECT ON TABLE %s TO ${READER_ROLE}', made.name);
      END IF;
    END LOOP;
  END
  $show$;
  CREATE EVENT TRIGGER svc_show_to_reader ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW',
      'CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA', 'CREATE SEQUENCE', 'CREATE SCHEMA', 'CREATE EXTENSION',
      'ALTER TABLE')
    EXECUTE FUNCTION svc_internal.show_to_reader();`

/** What was there before the trigger. */
const SHOW_EXISTING = `
  FOR item IN
    SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$|svc_)'
  LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ${READER_ROLE}', item.name);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO ${READER_ROLE}', item.name);
    EXECUTE format('GRANT SELECT ON ALL SEQUENCES IN SCHEMA %s TO ${READER_ROLE}', item.name);
  END LOOP;`

/**
 * In each database, by a superuser. The platform's objects are members of the extension plpgsql, which every database
 * has: so pg_dump leaves them out, and no tenant can change or drop them. Rights are given before, because those that
 * an object has when it becomes a member are not dumped either.
 */
export const databaseSetup: readonly string[] = [
  `DO $setup$
  DECLARE item record;
  BEGIN
  IF EXISTS (SELECT FROM pg_event_trigger WHERE evtname = 'svc_show_to_reader') THEN RETURN; END IF;
  CREATE SCHEMA IF NOT EXISTS svc_internal;
  GRANT USAGE ON SCHEMA svc_internal TO ${OWNER_ROLE}, ${READER_ROLE};
  CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA svc_internal;
  CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA svc_internal;${ADOPT}${SHOW}
  ALTER EXTENSION plpgsql ADD SCHEMA svc_internal;
  ALTER EXTENSION plpgsql ADD FUNCTION svc_internal.show_to_reader();
  ALTER EXTENSION plpgsql ADD EVENT TRIGGER svc_show_to_reader;${SHOW_EXISTING}
  END
  $setup$`,
]
