import type { areas, Output } from "@svc/contract"
import type { BranchFacts } from "../databases/offers.ts"
import { inBytes, inPercent } from "./findings.ts"
import type { Inspection } from "./inspect.ts"

export type Scaling = Output<(typeof areas)["advice"]["specs"]["scaling"]>
export type ScalingSuggestion = Scaling["suggestions"][number]

/** What the server knows of its use. */
export interface Usage {
  readonly connections: { readonly used: number; readonly idle: number }
  readonly cache: { readonly hitBlocks: number; readonly readBlocks: number }
  readonly sharedBuffersBytes: number
  readonly databaseBytes: number
  /** Tables and indexes that were read at all since statistics are kept. */
  readonly workingSetBytes: number
  /** Of the statements counted, and since when, in seconds. */
  readonly execution: { readonly totalMs: number; readonly seconds: number }
  readonly wal: {
    readonly bytes: number
    readonly fullPages: number
    readonly records: number
    readonly seconds: number
  }
  readonly unusedIndexBytes: number
  readonly deadRowBytes: number
}

const SQL = `SELECT
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND state = 'idle') AS idle,
    own.blks_hit AS hit_blocks, own.blks_read AS read_blocks, pg_database_size(own.datname) AS database_bytes,
    (SELECT setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers') AS shared_buffers_bytes,
    (SELECT coalesce(sum(class.relpages::bigint * 8192), 0) FROM pg_class AS class
      WHERE class.relkind IN ('r', 'i', 'm', 't') AND class.oid >= 16384
        AND pg_stat_get_blocks_fetched(class.oid) > 0) AS working_set_bytes,
    (SELECT coalesce(sum(class.relpages::bigint * 8192), 0) FROM pg_class AS class
      JOIN pg_index AS index ON index.indexrelid = class.oid
      WHERE class.oid >= 16384 AND NOT index.indisunique AND pg_stat_get_numscans(class.oid) = 0) AS unused_index_bytes,
    (SELECT coalesce(sum(class.relpages::bigint * 8192 * pg_stat_get_dead_tuples(class.oid)
        / greatest(1, pg_stat_get_dead_tuples(class.oid) + pg_stat_get_live_tuples(class.oid))), 0)::bigint
      FROM pg_class AS class WHERE class.relkind = 'r' AND class.oid >= 16384) AS dead_row_bytes,
    (SELECT coalesce(sum(total_exec_time), 0) FROM svc_internal.pg_stat_statements) AS execution_ms,
    (SELECT extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM svc_internal.pg_stat_statements_info) AS execution_seconds,
    log.wal_bytes::float8 AS wal_bytes, log.wal_fpi AS wal_full_pages, log.wal_records,
    extract(epoch FROM clock_timestamp() - log.stats_reset)::float8 AS wal_seconds
  FROM pg_stat_database AS own CROSS JOIN pg_stat_wal AS log
  WHERE own.datname = current_database()`

type Row = Readonly<Record<string, number | null>>

export const readUsage = async (inspection: Inspection): Promise<Usage> => {
  const [row = {}] = await inspection.rows<Row>(SQL)
  const of = (name: string) => Number(row[name] ?? 0)
  return {
    connections: { used: of("used"), idle: of("idle") },
    cache: { hitBlocks: of("hit_blocks"), readBlocks: of("read_blocks") },
    sharedBuffersBytes: of("shared_buffers_bytes"),
    databaseBytes: of("database_bytes"),
    workingSetBytes: of("working_set_bytes"),
    execution: { totalMs: of("execution_ms"), seconds: of("execution_seconds") },
    wal: {
      bytes: of("wal_bytes"),
      fullPages: of("wal_full_pages"),
      records: of("wal_records"),
      seconds: of("wal_seconds"),
    },
    unusedIndexBytes: of("unused_index_bytes"),
    deadRowBytes: of("dead_row_bytes"),
  }
}

const MIB = 1024 * 1024
const GIB = 1024 * MIB
const WEEK_HOURS = 168
const HOUR_SECONDS = 3600

const CONNECTIONS_SHARE = 0.8
const CACHE_BLOCKS_MIN = 100_000
const CACHE_HIT_SHARE = 0.95
/** Statements running for so much of the time that it is awake, on average. */
const BUSY_MIN = 0.5
const IDLE_MAX = 0.02
/** Less awake time than this says nothing about a week. */
const AWAKE_HOURS_MIN = 1
const WAKES_A_DAY_MAX = 48
const ALWAYS_AWAKE_HOURS = 160
const SHORT_WAKE_SECONDS = 600
const HISTORY_TIMES_MAX = 5
const RECLAIMABLE_SHARE = 0.3
const RECLAIMABLE_MIN_BYTES = 256 * MIB
const WAL_BYTES_AN_HOUR = GIB
const TIMEOUT_STEPS = [300, 900, 1800, 3600] as const

/** How much of its awake time the server runs statements; null before there is enough to tell. */
export const busyShare = (facts: BranchFacts, { execution }: Usage): number | null => {
  const hours = execution.seconds / HOUR_SECONDS
  const awakeShare = Math.min(
    1,
    facts.wakes.hoursAwake / Math.min(WEEK_HOURS, Math.max(hours, facts.wakes.hoursAwake)),
  )
  const awakeHours = hours * awakeShare
  return awakeHours < AWAKE_HOURS_MIN ? null : execution.totalMs / (awakeHours * HOUR_SECONDS * 1000)
}

type Rule = (facts: BranchFacts, usage: Usage) => ScalingSuggestion | undefined

const connections: Rule = ({ connectionsMax: limit }, { connections: { used, idle } }) =>
  used < limit * CONNECTIONS_SHARE
    ? undefined
    : {
        resource: "connections",
        current: used,
        recommended: Math.ceil(Math.max(1, used - idle) / 5) * 5,
        reason: `${used} of ${limit} connections are taken and ${idle} of them are idle. Smaller pools, or statements over HTTP, need fewer.`,
        evidence: { used, idle, limit },
      }

const memory: Rule = ({ tier }, { cache, sharedBuffersBytes, workingSetBytes }) => {
  const blocks = cache.hitBlocks + cache.readBlocks
  const share = cache.hitBlocks / Math.max(1, blocks)
  if (
    cache.readBlocks < CACHE_BLOCKS_MIN ||
    share >= CACHE_HIT_SHARE ||
    workingSetBytes <= sharedBuffersBytes
  )
    return undefined
  const reason = `${inPercent(share)} of reads are answered from memory; what is read takes ${inBytes(workingSetBytes)} and there are ${inBytes(sharedBuffersBytes)} of buffers.`
  return {
    resource: "memory",
    current: inBytes(sharedBuffersBytes),
    recommended:
      tier === "dedicated" ? inBytes(2 ** Math.ceil(Math.log2(workingSetBytes))) : "dedicated tier",
    reason,
    evidence: {
      cache_hit_ratio: share,
      blocks_read: cache.readBlocks,
      working_set_bytes: workingSetBytes,
      shared_buffers_bytes: sharedBuffersBytes,
    },
  }
}

const tier: Rule = (facts, usage) => {
  const busy = busyShare(facts, usage)
  if (busy === null) return undefined
  const evidence = {
    busy_share: busy,
    hours_awake: facts.wakes.hoursAwake,
    total_exec_time_ms: usage.execution.totalMs,
  }
  if (facts.tier !== "dedicated" && busy >= BUSY_MIN) {
    const reason = `Statements run for ${inPercent(busy)} of the time that the database is awake; on a packed host others wait for it, and it for them.`
    return { resource: "tier", current: facts.tier, recommended: "dedicated", reason, evidence }
  }
  if (facts.tier === "dedicated" && busy <= IDLE_MAX && usage.databaseBytes < GIB) {
    const reason = `Statements run for ${inPercent(busy)} of the time and the data is small; a packed host would do.`
    return { resource: "tier", current: facts.tier, recommended: "isolated", reason, evidence }
  }
  return undefined
}

const suspendTimeout: Rule = (facts, usage) => {
  const { suspendTimeoutSeconds: current, wakes } = facts
  const busy = busyShare(facts, usage)
  const evidence = { wakes_7d: wakes.count, hours_awake_7d: wakes.hoursAwake, busy_share: busy }
  const resource = "suspend_timeout_seconds"
  if (current === 0 || wakes.count / 7 <= WAKES_A_DAY_MAX) {
    if (
      wakes.hoursAwake < ALWAYS_AWAKE_HOURS ||
      busy === null ||
      busy > IDLE_MAX ||
      (current > 0 && current <= 300)
    )
      return undefined
    const reason = `The database was awake ${Math.round(wakes.hoursAwake)} of ${WEEK_HOURS} hours and ran statements for ${inPercent(busy)} of them. Asleep it costs nothing and wakes in well under a second.`
    return { resource, current, recommended: 300, reason, evidence }
  }
  const secondsEach = (wakes.hoursAwake * HOUR_SECONDS) / wakes.count
  if (secondsEach > current + SHORT_WAKE_SECONDS) return undefined
  const recommended = TIMEOUT_STEPS.find(step => step > current)
  if (recommended === undefined) return undefined
  const reason = `It woke ${Math.round(wakes.count / 7)} times a day for ${Math.round(secondsEach)} seconds each; every first request waits for that.`
  return { resource, current, recommended, reason, evidence }
}

const storage: Rule = (_, { databaseBytes, unusedIndexBytes, deadRowBytes }) => {
  const reclaimable = unusedIndexBytes + deadRowBytes
  if (reclaimable < RECLAIMABLE_MIN_BYTES || reclaimable < databaseBytes * RECLAIMABLE_SHARE) return undefined
  return {
    resource: "storage",
    current: inBytes(databaseBytes),
    recommended: inBytes(databaseBytes - reclaimable),
    reason: `Indexes that nothing reads take ${inBytes(unusedIndexBytes)} and dead rows ${inBytes(deadRowBytes)}. POST /api/v1/anomalies names them.`,
    evidence: {
      database_bytes: databaseBytes,
      unused_index_bytes: unusedIndexBytes,
      dead_row_bytes: deadRowBytes,
    },
  }
}

const DAY_SECONDS = 86_400

const history: Rule = ({ historyBytes, historyRetentionSeconds, physicalBytes }, { databaseBytes }) => {
  if (historyBytes < GIB || historyBytes < databaseBytes * HISTORY_TIMES_MAX) return undefined
  if (historyRetentionSeconds <= DAY_SECONDS) return undefined
  return {
    resource: "history_retention_seconds",
    current: historyRetentionSeconds,
    recommended: Math.max(DAY_SECONDS, Math.round(historyRetentionSeconds / 2)),
    reason: `The history takes ${inBytes(historyBytes)}, ${Math.round(historyBytes / Math.max(1, databaseBytes))} times the data.`,
    evidence: { history_bytes: historyBytes, database_bytes: databaseBytes, physical_bytes: physicalBytes },
  }
}

const wal: Rule = ({ wakes }, { wal, databaseBytes }) => {
  const hours = Math.max(
    AWAKE_HOURS_MIN,
    Math.min(wal.seconds / HOUR_SECONDS, Math.max(wakes.hoursAwake, AWAKE_HOURS_MIN)),
  )
  const bytesAnHour = wal.bytes / hours
  if (bytesAnHour < WAL_BYTES_AN_HOUR || wal.bytes < databaseBytes * HISTORY_TIMES_MAX) return undefined
  const fullPageShare = (wal.fullPages * 8192) / wal.bytes
  return {
    resource: "write_ahead_log",
    current: `${inBytes(bytesAnHour)} an hour`,
    recommended: "fewer writes of the same rows",
    reason:
      "The log of writes is many times the data, and all of it is kept for the history. Larger transactions, fewer indexes on columns that change, and unlogged tables for what may be lost write less.",
    evidence: {
      wal_bytes: wal.bytes,
      wal_bytes_per_hour: bytesAnHour,
      full_page_share: Math.min(1, fullPageShare),
    },
  }
}

const rules: readonly Rule[] = [connections, memory, tier, suspendTimeout, storage, history, wal]

/** Nothing where nothing calls for a change. */
export const suggestScaling = (facts: BranchFacts, usage: Usage): ScalingSuggestion[] =>
  rules.flatMap(rule => rule(facts, usage) ?? [])
