import { check, inPercent } from "../findings.ts"

interface SessionRow {
  pid: number
  user: string
  application: string
  seconds: number
  query: string
}

const QUERY_LENGTH_MAX = 300

const SESSION = `session.pid, session.usename AS user, session.application_name AS application,
      left(session.query, ${QUERY_LENGTH_MAX}) AS query`

/** Sessions of the tenant; those of the platform itself are left out. */
const THEIRS = `session.backend_type = 'client backend' AND session.pid <> pg_backend_pid()
      AND session.usename IS DISTINCT FROM 'svc_admin'`

const secondsSince = (time: string) => `floor(extract(epoch FROM clock_timestamp() - ${time}))::bigint`

const whoseSession = (row: SessionRow) => `Session ${row.pid} of ${row.user}`
const END = "end it with SELECT pg_terminate_backend"

const idleInTransaction = check<SessionRow>({
  name: "idle_in_transaction",
  title: "Session idle in a transaction",
  level: "WARN",
  categories: ["RELIABILITY", "PERFORMANCE"],
  description: "An open transaction keeps its locks and keeps VACUUM from removing dead rows.",
  sql: `SELECT ${SESSION}, ${secondsSince("session.state_change")} AS seconds
    FROM pg_stat_activity AS session
    WHERE ${THEIRS} AND session.state LIKE 'idle in transaction%'
      AND clock_timestamp() - session.state_change >= make_interval(secs => $1::float8)
    ORDER BY session.state_change`,
  parameters: limits => [limits.idleInTransactionSeconds],
  found: row => ({
    key: String(row.pid),
    detail: `${whoseSession(row)} has been idle in a transaction for ${row.seconds} seconds.`,
    remediation: `Commit or roll back in the application, or ${END}(${row.pid}); ALTER ROLE owner SET idle_in_transaction_session_timeout = '60s'; ends such sessions by itself.`,
    metadata: { ...row },
  }),
})

const lockWait = check<SessionRow & { blocked_by: number[] }>({
  name: "lock_wait",
  title: "Statement waiting for a lock",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description: "A statement waits for another session's transaction to end.",
  sql: `SELECT ${SESSION}, ${secondsSince("held.waitstart")} AS seconds, pg_blocking_pids(session.pid) AS blocked_by
    FROM pg_stat_activity AS session
    JOIN LATERAL (SELECT min(lock.waitstart) AS waitstart FROM pg_locks AS lock
      WHERE lock.pid = session.pid AND NOT lock.granted) AS held ON held.waitstart IS NOT NULL
    WHERE ${THEIRS} AND session.wait_event_type = 'Lock'
      AND clock_timestamp() - held.waitstart >= make_interval(secs => $1::float8)
    ORDER BY held.waitstart`,
  parameters: limits => [limits.lockWaitSeconds],
  found: row => ({
    key: String(row.pid),
    detail: `${whoseSession(row)} has waited ${row.seconds} seconds for a lock held by ${row.blocked_by.join(", ")}.`,
    remediation: `Let the blocking transaction end, or ${END}(${row.blocked_by[0]}); Set lock_timeout so that waiting has an end.`,
    metadata: { ...row },
  }),
})

const longQuery = check<SessionRow>({
  name: "long_running_query",
  title: "Statement running for long",
  level: "WARN",
  categories: ["PERFORMANCE"],
  description:
    "A statement that runs for minutes takes resources from others and keeps VACUUM from its work.",
  sql: `SELECT ${SESSION}, ${secondsSince("session.query_start")} AS seconds
    FROM pg_stat_activity AS session
    WHERE ${THEIRS} AND session.state = 'active' AND session.wait_event_type IS DISTINCT FROM 'Lock'
      AND clock_timestamp() - session.query_start >= make_interval(secs => $1::float8)
    ORDER BY session.query_start`,
  parameters: limits => [limits.longQuerySeconds],
  found: row => ({
    key: String(row.pid),
    detail: `${whoseSession(row)} has run a statement for ${row.seconds} seconds.`,
    remediation: `Cancel it with SELECT pg_cancel_backend(${row.pid}); then POST /api/v1/optimize with its text shows what would make it faster.`,
    metadata: { ...row },
  }),
})

const ALMOST_ALL = 0.95

const connections = check<{ used: number; limit: number; idle: number; share: number }>({
  name: "connection_saturation",
  title: "Connections almost used up",
  level: "WARN",
  categories: ["CAPACITY"],
  description: "Once all connections are taken, new ones are refused.",
  sql: `SELECT used, allowed AS limit, idle, used::float8 / allowed AS share
    FROM (
      SELECT count(*) AS used, count(*) FILTER (WHERE session.state = 'idle') AS idle
      FROM pg_stat_activity AS session WHERE session.backend_type = 'client backend'
    ) AS taken
    CROSS JOIN (
      SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - current_setting('reserved_connections')::int AS allowed
    ) AS setting
    WHERE used >= allowed * $1::float8`,
  parameters: limits => [limits.connectionsShare],
  found: row => ({
    key: "connections",
    level: row.share >= ALMOST_ALL ? "ERROR" : "WARN",
    detail: `${row.used} of ${row.limit} connections are taken (${inPercent(row.share)}); ${row.idle} of them are idle.`,
    remediation:
      "Use a smaller pool in each process of the application, close connections that are idle, or send statements over HTTP (POST /api/v1/sql), which shares connections.",
    metadata: { ...row },
  }),
})

export const sessionChecks = [idleInTransaction, lockWait, longQuery, connections]
