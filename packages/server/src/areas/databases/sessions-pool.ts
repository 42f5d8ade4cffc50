import pg from "pg"
import { fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { DATABASE_NAME, type Endpoint, type EnginePort } from "../../ports/engine/port.ts"
import { invalidSql } from "../../services/postgres/failures.ts"
import { lend } from "../../services/postgres/lend.ts"
import { type SessionRole, type Sessions, sessionConfig } from "../../services/postgres/sessions.ts"
import { callEngine } from "./call-engine.ts"
import type { Compute } from "./compute.ts"
import type { Directory, ReadyBranch } from "./directory.ts"

export interface SessionPools extends Sessions, AsyncDisposable {
  /** Lets go of every connection to the branch. */
  close(branch: Pick<ReadyBranch, "volume">): Promise<void>
}

/** Connections of one server and role that HTTP calls share. */
const CONNECTIONS_MAX = 20
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_MS = 10_000

export const openPool = (branch: ReadyBranch, role: SessionRole, endpoint: Endpoint): pg.Pool => {
  const pool = new pg.Pool({
    ...sessionConfig(role, branch.volume.pgVersion),
    host: endpoint.host,
    port: endpoint.port,
    database: DATABASE_NAME,
    password: branch.credentials.reader,
    ssl: endpoint.tls ? { ca: endpoint.tls.ca, servername: endpoint.tls.servername } : false,
    max: CONNECTIONS_MAX,
    application_name: "svc-http",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    // Values are converted from PostgreSQL's own text, where it is known what they are for.
    types: { getTypeParser: () => (value: unknown) => value },
  })
  // A connection that breaks while idle is dropped; the next call opens another.
  pool.on("error", () => undefined)
  pool.on("connect", client => client.on("error", () => undefined))
  return pool
}

const CONNECTION_LIMIT = "53300"
const NO_DATABASE = "3D000"
/**
 * What a tenant can do to the platform's own roles and to the database: another password, no login, no right to
 * connect, no connections at all.
 */
const SHUT_OUT = new Set(["28P01", "28000", "42501", "55000"])

const isShutOut = (error: unknown): boolean => {
  const { code = "", message = "" } = error as { code?: string; message?: string }
  return SHUT_OUT.has(code) || (code === CONNECTION_LIMIT && / for (?:role|database) /.test(message))
}

const connectionFault = (error: unknown): Error => {
  const { code } = error as { code?: string }
  if (code === NO_DATABASE) {
    return invalidSql(`the server has no database ${DATABASE_NAME} any more; it was dropped or renamed`, {
      sqlstate: NO_DATABASE,
    })
  }
  if (code === CONNECTION_LIMIT || /timeout exceeded when trying to connect/.test(String(error)))
    return fault("rate_limited", undefined, { internal: error, headers: { "retry-after": "1" } })
  return fault(
    "service_unavailable",
    { reason: "the database does not accept connections" },
    { internal: error, headers: { "retry-after": "1" } },
  )
}

export const createSessionPools = (needs: {
  engine: Pick<EnginePort, "restoreAccess">
  directory: Directory
  compute: Compute
  log: Logger
}): SessionPools => {
  const { directory, compute, log } = needs
  const pools = new Map<string, pg.Pool>()

  const poolOf = (branch: ReadyBranch, role: SessionRole, endpoint: Endpoint): pg.Pool => {
    const key = `${branch.volume.id}:${role}:${branch.credentials.reader}`
    const known = pools.get(key) ?? openPool(branch, role, endpoint)
    pools.set(key, known)
    return known
  }

  /** Many calls find the same refusal. */
  const restoring = new Map<string, Promise<void>>()
  const restoreAccess = ({ volume, credentials }: ReadyBranch): Promise<void> => {
    const known = restoring.get(volume.id)
    if (known) return known
    log.warn({ volume: volume.id }, "database rejected the credentials of the server; restoring access")
    const restored = needs.engine
      .restoreAccess(volume, credentials)
      .finally(() => restoring.delete(volume.id))
    restoring.set(volume.id, restored)
    return restored
  }

  const connect = async (branch: ReadyBranch, pool: pg.Pool): Promise<pg.PoolClient> => {
    try {
      return await pool.connect()
    } catch (error) {
      if (!isShutOut(error)) throw connectionFault(error)
      return restoreAccess(branch)
        .then(() => pool.connect())
        .catch(second => {
          throw connectionFault(second)
        })
    }
  }

  const end = async (key: string, pool: pg.Pool) => {
    pools.delete(key)
    await pool.end().catch(error => log.warn({ err: error }, "closing a database connection pool failed"))
  }

  return {
    async use(target, role, work, { signal, cleaned = false } = {}) {
      const branch = await directory.find(target)
      if (!branch) throw fault("branch_not_found")
      using lease = await callEngine(() => compute.acquire(branch, signal))
      const client = await connect(branch, poolOf(branch, role, lease.endpoint))
      return await lend({ client, wakeMs: lease.endpoint.wakeMs }, work, cleaned)
    },

    async close({ volume }) {
      const own = [...pools].filter(([key]) => key.startsWith(`${volume.id}:`))
      await Promise.all(own.map(([key, pool]) => end(key, pool)))
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...pools].map(([key, pool]) => end(key, pool)))
    },
  }
}
