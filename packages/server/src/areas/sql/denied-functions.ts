/**
 * Functions that a statement of a read-only caller may not name. A read-only transaction of a role that may write
 * nothing protects the data by itself; these would do something besides: change or keep state of the session, run SQL
 * that is passed as text and so was never looked at, reach other sessions, files or the log.
 */

const NAMES: ReadonlySet<string> = new Set([
  // State of the session, and of sequences.
  "set_config",
  "setseed",
  "set_limit",
  "nextval",
  "setval",
  // SQL as text.
  "ts_stat",
  "ts_rewrite",
  "xpath_table",
  "connectby",
  // Other sessions.
  "pg_notify",
  "pg_terminate_backend",
  "pg_cancel_backend",
  "pg_log_backend_memory_contexts",
  "pg_export_snapshot",
  // Large objects.
  "loread",
  "lowrite",
  // The server.
  "pg_reload_conf",
  "pg_rotate_logfile",
  "pg_promote",
  "pg_switch_wal",
  "pg_create_restore_point",
  "pg_logical_emit_message",
  "pg_import_system_collations",
  "pg_extension_config_dump",
  "pg_nextoid",
  "pg_stop_making_pinned_objects",
  "pg_current_logfile",
  "pg_stat_file",
  "pg_prewarm",
  "autoprewarm_start_worker",
  "autoprewarm_dump_now",
  "pg_truncate_visibility_map",
  "gin_clean_pending_list",
  "pg_stat_statements_reset",
  "pg_sync_replication_slots",
])

const FAMILIES: readonly RegExp[] = [
  /^pg_(?:try_)?advisory_/,
  /^dblink/,
  /^lo_/,
  /^pg_(?:read|ls|file|logdir|hba|ident)_/,
  /^pg_(?:create|drop|copy|advance|alter)_.*(?:slot|origin)/,
  /^pg_(?:replication|logical_slot|backup|wal_replay|start|stop|restore|clear)_/,
  /^pg_stat_(?:reset|get_wal_receiver)/,
  /^(?:query|cursor|table|schema|database)_to_xml/,
  /^crosstab/,
  /^brin_(?:de)?summarize/,
  /^heap_force_/,
  /^binary_upgrade_/,
  /^postgres_fdw_/,
  /^svc_/,
]

/** `name`: the last part of the function's name as the parser gives it: unquoted and folded. */
export const isDenied = (name: string): boolean =>
  NAMES.has(name) || FAMILIES.some(family => family.test(name))
