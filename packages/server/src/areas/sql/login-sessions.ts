/**
 * Sessions of whoever has a connection string, for requests that bring it each time: its role and password are checked by
 * the database when a connection is opened, and connections are shared by requests that bring the same.
 */
import { createHash } from "node:crypto"
import pg from "pg"
import type { Tenants } from "../../core/organizations/tenants.ts"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { OrganizationFacts } from "../../kernel/call.ts"
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { asOptions, type Endpoint } from "../../ports/engine/port.ts"
import { invalidSql } from "../../services/postgres/failures.ts"
import { lend } from "../../services/postgres/lend.ts"
import { isServerError } from "../../services/postgres/pipeline.ts"
import { type Sessions, STATEMENT_TIMEOUT_MS, VALUE_FORMS } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { BranchServers } from "../databases/offers.ts"
import { WireRefusal, wrongPassword } from "./wire/error-response.ts"
import { route } from "./wire/route.ts"

/** Connections of one role and password that requests share. */
const CONNECTIONS_MAX = 20
/** Roles and passwords that connections are kept for. */
const POOLS_MAX = 200
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_MS = 10_000
/** A password that was changed lets in no longer than this. */
const LIFETIME_SECONDS = 60
const PLACES_MAX = 10_000
const TOO_MANY_CONNECTIONS = "53300"

export interface Login {
  readonly connectionString: string
  readonly branch: Target
  readonly target: Target
  readonly user: string
  readonly database: string
  readonly password: string
}

export interface LoginSessions extends AsyncDisposable {
  /** Whose request it is: of a connection string that its database let in and has not refused since. */
  payerOf(connectionString: string): Promise<OrganizationFacts | undefined>
  /** The branch that a connection string is for. Refuses what names none as PostgreSQL refuses a wrong password. */
  find(connectionString: string): Promise<Login>
  of(login: Login): Sessions
  /** Lets go of every connection to the branch. */
  close(branch: Pick<Target, "volume">): Promise<void>
}

const refused = (message: string, sqlstate: string, internal?: unknown): Fault =>
  invalidSql(message, { sqlstate }, internal)

const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1")

const parse = (connectionString: string) => {
  try {
    const url = new URL(connectionString)
    const user = decodeURIComponent(url.username)
    const parameters = new Map([
      ["user", latin1(user)],
      ["database", latin1(decodeURIComponent(url.pathname.slice(1)))],
      ["options", latin1(url.searchParams.get("options") ?? "")],
    ])
    return { user, password: decodeURIComponent(url.password), at: route(parameters, url.hostname) }
  } catch (error) {
    if (error instanceof WireRefusal) throw refused(error.message, error.sqlstate)
    throw refused("the connection string cannot be read", "28000")
  }
}

const openPool = ({ user, password, database }: Login, { host, port, tls }: Endpoint): pg.Pool => {
  const pool = new pg.Pool({
    statement_timeout: STATEMENT_TIMEOUT_MS,
    options: asOptions(VALUE_FORMS),
    host,
    port,
    database,
    user,
    password,
    ssl: tls ? { ca: tls.ca, servername: tls.servername } : false,
    max: CONNECTIONS_MAX,
    application_name: "svc-http",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_SECONDS,
    // Values are converted from PostgreSQL's own text, where it is known what they are for.
    types: { getTypeParser: () => (value: unknown) => value },
  })
  pool.on("error", () => undefined)
  pool.on("connect", client => client.on("error", () => undefined))
  return pool
}

const connect = async (pool: pg.Pool): Promise<pg.PoolClient> => {
  try {
    return await pool.connect()
  } catch (error) {
    const retry = { internal: error, headers: { "retry-after": "1" } }
    const known = isServerError(error) ? error : undefined
    if (known?.code === TOO_MANY_CONNECTIONS || /timeout exceeded when trying to connect/.test(String(error)))
      throw fault("rate_limited", undefined, retry)
    // No such role, password, database or right to it.
    if (known && /^(?:28|3D|42)/.test(known.code)) throw refused(known.message, known.code, known)
    throw fault("service_unavailable", { reason: "the database does not accept connections" }, retry)
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64")

const createBranchFinder = (servers: BranchServers) => {
  /** Where branches belong, which never changes: whether they are there still, `find` knows. */
  const places = new Map<string, Target>()
  return async (branchId: string): Promise<Target | undefined> => {
    const place = places.get(branchId)
    if (place) return servers.find(place)
    const found = await servers.findById(branchId)
    if (found && places.size < PLACES_MAX) {
      const { organizationId, projectId, databaseId, volume } = found
      places.set(branchId, { organizationId, projectId, databaseId, branchId, volume })
    }
    return found
  }
}

export const createLoginSessions = (needs: {
  readonly servers: BranchServers
  readonly log: Logger
  readonly tenants: Tenants
}): LoginSessions => {
  const { servers, log, tenants } = needs
  const pools = new Map<string, pg.Pool>()
  const branchOf = createBranchFinder(servers)
  /** Digests of connection strings to their projects; bounded as pools are, which take longer to be opened. */
  const proven = createBoundedCache<string>(POOLS_MAX * 10)

  const end = async (key: string) => {
    const pool = pools.get(key)
    pools.delete(key)
    await pool?.end().catch(error => log.warn({ err: error }, "closing a database connection pool failed"))
  }

  const keyOf = ({ branch, user, password, database }: Login): string =>
    `${branch.volume.id}:${digest([user, password, database].join("\0"))}`

  const forget = (login: Login) => {
    proven.delete(digest(login.connectionString))
    void end(keyOf(login))
  }

  const poolOf = (login: Login, endpoint: Endpoint): pg.Pool => {
    const key = keyOf(login)
    const known = pools.get(key) ?? openPool(login, endpoint)
    // The newest last, so that the first is the one that was not used for longest.
    pools.delete(key)
    pools.set(key, known)
    const [oldest] = pools.keys()
    if (pools.size > POOLS_MAX && oldest !== undefined) void end(oldest)
    return known
  }

  return {
    async payerOf(connectionString) {
      const projectId = proven.get(digest(connectionString))
      return projectId === undefined ? undefined : (await tenants.find(projectId))?.organization
    },

    async find(connectionString) {
      const { at, password } = parse(connectionString)
      const branch = await branchOf(at.branchId)
      if (!branch) {
        const { message, sqlstate } = wrongPassword(at.user)
        throw refused(message, sqlstate)
      }
      // Types of another database have numbers of their own.
      const volume = { ...branch.volume, id: `${branch.volume.id}/${at.database}` }
      const target = { ...branch, volume }
      return { connectionString, branch, target, user: at.user, database: at.database, password }
    },

    of: login => ({
      async use(_target, _role, work, { signal, cleaned = false } = {}) {
        using lease = await servers.acquire(login.branch, signal)
        const client = await connect(poolOf(login, lease.endpoint)).catch(error => {
          // What was refused keeps no place from others.
          if (isFault(error, "invalid_sql")) forget(login)
          throw error
        })
        proven.set(digest(login.connectionString), login.branch.projectId)
        return await lend({ client, wakeMs: lease.endpoint.wakeMs }, work, cleaned)
      },
    }),

    async close({ volume }) {
      const own = [...pools.keys()].filter(key => key.startsWith(`${volume.id}:`))
      await Promise.all(own.map(end))
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...pools.keys()].map(end))
    },
  }
}
