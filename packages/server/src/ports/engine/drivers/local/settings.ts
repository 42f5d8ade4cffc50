import type { PgVersion, Tier } from "../../port.ts"

export const ARCHIVER_NAME = "svc_wal"
/** Part of the socket's name; nothing listens on TCP. */
export const SOCKET_PORT = 5432
export const CONNECTIONS_MAX = 100

/** Memory in MB. Pages of shared memory that nothing touched cost nothing, so an idle server is as small with more. */
const sharedBuffersMb: Readonly<Record<Tier, number>> = { shared: 64, isolated: 64, dedicated: 256 }

/**
 * Settings on the command line, which no file and no ALTER SYSTEM overrides. Tuned for little idle memory: no process
 * for what is not used, and for tenants who must not fill the disk.
 */
export const instanceSettings = (options: {
  version: PgVersion
  tier: Tier
  socketDir: string
  /** The server replays for ever, and so lets nobody write. */
  readOnly?: boolean
  /** For the first start of a copy. */
  recovery?: { readonly settings: readonly string[]; readonly waitsForDisk: boolean }
}): readonly string[] => {
  const { version, tier, socketDir, readOnly = false } = options
  const { recovery = { settings: [], waitsForDisk: true } } = options
  return [
    "listen_addresses=",
    `port=${SOCKET_PORT}`,
    `unix_socket_directories="${socketDir.replaceAll('"', '""')}"`,
    "unix_socket_permissions=0700",
    "dynamic_shared_memory_type=mmap",

    `max_connections=${CONNECTIONS_MAX}`,
    "superuser_reserved_connections=5",
    `shared_buffers=${sharedBuffersMb[tier]}MB`,
    "huge_pages=off",
    ...(version >= 18 ? ["io_method=sync"] : []),
    "jit=off",
    "max_worker_processes=4",
    "max_parallel_workers=2",
    "max_parallel_workers_per_gather=1",
    "max_logical_replication_workers=0",
    "autovacuum_max_workers=1",
    ...(version >= 18 ? ["autovacuum_worker_slots=1"] : []),
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.max=1000",
    "pg_stat_statements.track_utility=off",
    "track_activity_query_size=4096",

    "wal_level=replica",
    "max_wal_senders=4",
    "max_replication_slots=4",
    // A log that nobody fetches must not fill the disk; past this the history gets a new beginning.
    "max_slot_wal_keep_size=2GB",
    "min_wal_size=8MB",
    "max_wal_size=256MB",
    "checkpoint_timeout=15min",
    "wal_compression=pglz",
    `hot_standby=${readOnly ? "on" : "off"}`,
    ...(recovery.waitsForDisk ? ["fsync=on"] : []),
    "full_page_writes=on",
    "synchronous_commit=on",
    "temp_file_limit=2GB",
    // A client that is gone for good is noticed while its statement runs.
    "client_connection_check_interval=5s",
    // A session may ask for more. One that is forgotten in a transaction would keep its database awake for ever.
    "idle_in_transaction_session_timeout=10min",

    "password_encryption=scram-sha-256",
    "log_destination=stderr",
    "logging_collector=off",
    // Failed statements are their caller's to see, and could carry values of users.
    "log_min_messages=log",
    "log_min_error_statement=panic",
    "log_checkpoints=off",
    "log_line_prefix=",
    "log_timezone=UTC",
    "timezone=UTC",
    "lc_messages=C",
    ...recovery.settings,
  ]
}
