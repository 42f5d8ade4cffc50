/** Sizes that an operator of a busier platform may raise. */
export interface Sizes {
  readonly sharedBuffersMb?: number | undefined
  readonly maxConnections?: number | undefined
}

/**
 * The server's settings as `name=value`, given on the command line, where no file of the cluster overrides them.
 * Tuned for little idle memory: no process and no shared memory for what the platform does not use
 * (parallel queries, logical replication, asynchronous reads, compiled queries).
 */
export const serverSettings = (
  options: Sizes & { socketDir: string; durable: boolean },
): readonly string[] => {
  const { socketDir, durable, sharedBuffersMb = 16, maxConnections = 50 } = options
  return [
    "listen_addresses=",
    "port=5432",
    // A list of directories: quoted, so that a comma in a path does not split it.
    `unix_socket_directories="${socketDir.replaceAll('"', '""')}"`,
    "unix_socket_permissions=0700",

    `max_connections=${maxConnections}`,
    `shared_buffers=${sharedBuffersMb}MB`,
    "huge_pages=off",
    "wal_buffers=1MB",
    "io_method=sync",
    "jit=off",
    "max_worker_processes=0",
    "max_parallel_workers=0",
    "max_parallel_workers_per_gather=0",
    "max_parallel_maintenance_workers=0",
    "max_logical_replication_workers=0",
    "max_replication_slots=0",
    "autovacuum=on",
    "autovacuum_max_workers=1",
    "autovacuum_worker_slots=1",
    "track_activities=on",

    // Replica level and two senders let an operator take a base backup of a running server.
    "wal_level=replica",
    "max_wal_senders=2",
    "min_wal_size=32MB",
    "max_wal_size=128MB",
    `fsync=${durable ? "on" : "off"}`,
    `full_page_writes=${durable ? "on" : "off"}`,
    `synchronous_commit=${durable ? "on" : "off"}`,

    // LOG, FATAL and PANIC only: failed statements are the caller's to report, and could carry users' values.
    "log_destination=stderr",
    "logging_collector=off",
    "log_min_messages=log",
    "log_min_error_statement=panic",
    "log_checkpoints=off",
    "log_line_prefix=",
    "timezone=UTC",
    "log_timezone=UTC",
    "lc_messages=C",
  ]
}
