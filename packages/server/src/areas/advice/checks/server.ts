import { check, inBytes, inPercent } from "../findings.ts"

const slot = check<{ slot: string; retained_bytes: number; active: boolean; wal_status: string }>({
  name: "wal_backlog",
  title: "Write-ahead log that nobody fetches",
  level: "WARN",
  categories: ["RELIABILITY", "CAPACITY"],
  description:
    "A replication slot keeps log until its consumer has it. What is not fetched takes space, and the newest commits are not in the history yet.",
  sql: `SELECT * FROM (
      SELECT slot.slot_name AS slot, slot.active, coalesce(slot.wal_status, 'lost') AS wal_status,
        coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), slot.restart_lsn), 0)::bigint AS retained_bytes
      FROM pg_replication_slots AS slot WHERE NOT slot.temporary
    ) AS backlog
    WHERE retained_bytes >= $1::bigint OR wal_status IN ('unreserved', 'lost')
    ORDER BY retained_bytes DESC, 1`,
  parameters: limits => [limits.slotBytes],
  found: row => {
    const broken = row.wal_status === "lost" || row.wal_status === "unreserved"
    return {
      key: row.slot,
      level: broken ? "ERROR" : "WARN",
      detail: broken
        ? `Slot ${row.slot} has lost log, or is about to: its consumer has to begin anew.`
        : `Slot ${row.slot} (${row.active ? "connected" : "not connected"}) holds back ${inBytes(row.retained_bytes)} of log.`,
      remediation:
        "A slot named svc_ is the platform's own and is mended by it; ask the operator if this stays. Drop another that is not needed: SELECT pg_drop_replication_slot(name);",
      metadata: row,
    }
  },
})

const BLOCK_BYTES = 8192

const tempSpill = check<{ query_id: string; query: string; calls: number; bytes_per_call: number }>({
  name: "temp_file_spill",
  title: "Statement that sorts or hashes on disk",
  level: "INFO",
  categories: ["PERFORMANCE"],
  description: "work_mem did not hold what the statement had to sort or hash, so it wrote temporary files.",
  sql: `SELECT entry.queryid::text AS query_id, left(min(entry.query), 300) AS query, sum(entry.calls)::bigint AS calls,
      (sum(entry.temp_blks_written) * ${BLOCK_BYTES} / sum(entry.calls))::bigint AS bytes_per_call
    FROM svc_internal.pg_stat_statements AS entry
    WHERE entry.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND entry.calls > 0 AND entry.queryid IS NOT NULL
    GROUP BY entry.queryid
    HAVING sum(entry.temp_blks_written) * ${BLOCK_BYTES} / sum(entry.calls) >= $1::bigint
    ORDER BY sum(entry.temp_blks_written) DESC, 1`,
  parameters: limits => [limits.tempBytesPerCall],
  found: row => ({
    key: row.query_id,
    detail: `A statement wrote ${inBytes(row.bytes_per_call)} of temporary files a call, in ${row.calls} calls: ${row.query}`,
    remediation:
      "An index in the order of the sort avoids it (POST /api/v1/optimize proposes one), or give that session more memory: SET work_mem = '64MB';",
    metadata: row,
  }),
})

const cacheHits = check<{ share: number; read_blocks: number; hit_blocks: number; shared_buffers: string }>({
  name: "low_cache_hit_ratio",
  title: "Few reads answered from memory",
  level: "WARN",
  categories: ["PERFORMANCE", "CAPACITY"],
  description: "What queries read does not fit into the server's memory, or they read too much of it.",
  sql: `SELECT blks_hit::float8 / (blks_hit + blks_read) AS share, blks_read AS read_blocks, blks_hit AS hit_blocks,
      current_setting('shared_buffers') AS shared_buffers
    FROM pg_stat_database
    WHERE datname = current_database() AND blks_read >= $1::bigint
      AND blks_hit < (blks_hit + blks_read) * $2::float8`,
  parameters: limits => [limits.cacheBlocksMin, limits.cacheHitShare],
  found: row => ({
    key: "cache",
    detail: `${inPercent(row.share)} of blocks were found in shared_buffers (${row.shared_buffers}); ${row.read_blocks} were read.`,
    remediation:
      "POST /api/v1/optimize finds statements that read whole tables; GET /api/v1/scaling tells whether more memory would help.",
    metadata: row,
  }),
})

const requested = (version: number) =>
  version >= 17
    ? "SELECT num_requested AS requested, num_timed AS timed FROM pg_stat_checkpointer"
    : "SELECT checkpoints_req AS requested, checkpoints_timed AS timed FROM pg_stat_bgwriter"

/** A checkpoint begins early when the log since the last one nears max_wal_size; branches and sleep ask for others. */
const checkpoints = check<{ requested: number; timed: number; wal_bytes_each: number; max_wal_size: string }>(
  {
    name: "checkpoint_pressure",
    title: "Checkpoints forced by writes",
    level: "WARN",
    categories: ["PERFORMANCE"],
    description:
      "Writes fill the log so fast that checkpoints come early, and every page is logged whole again after each.",
    sql: version => `SELECT requested, timed, (wal_bytes / requested)::bigint AS wal_bytes_each,
      current_setting('max_wal_size') AS max_wal_size
    FROM (${requested(version)}) AS checkpoint CROSS JOIN (SELECT wal_bytes FROM pg_stat_wal) AS log
    WHERE requested >= $1::bigint AND requested > timed
      AND wal_bytes / requested >= $2::float8 * pg_size_bytes(current_setting('max_wal_size'))`,
    parameters: limits => [limits.checkpointsMin, limits.checkpointLogShare],
    found: row => ({
      key: "checkpoints",
      detail: `${row.requested} checkpoints were forced, ${row.timed} came in their time; ${inBytes(row.wal_bytes_each)} of log lie between two.`,
      remediation:
        "Write in larger transactions, load with COPY before making indexes, and drop indexes that no query uses. A dedicated database has room for more.",
      metadata: row,
    }),
  },
)

export const serverChecks = [slot, tempSpill, cacheHits, checkpoints]
