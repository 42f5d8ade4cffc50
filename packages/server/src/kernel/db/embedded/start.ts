import { existsSync, renameSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import pg from "pg"
import { onDisk, StartupError } from "../../startup-error.ts"
import { accountOfServer, chooseAccount } from "./account.ts"
import { locateBinaries, prepareBinaries } from "./binaries.ts"
import { DATABASE, ensureCluster } from "./cluster.ts"
import { clearLeftovers } from "./leftovers.ts"
import { acquireDataDirLock, type DataDirLock } from "./lock.ts"
import { PASSWORD_FILE, passwordOf } from "./password.ts"
import { makePassageDir, makePrivateDir, placeCluster, placeSocket } from "./placement.ts"
import { type PostgresExit, startServer } from "./server.ts"
import { type Sizes, serverSettings } from "./settings.ts"
import { takeOver } from "./take-over.ts"

/** A part of the socket's file name; nothing listens on TCP. */
const SOCKET_PORT = 5432
const ANSWER_TIMEOUT_MS = 10_000

export interface EmbeddedPostgresOptions extends Sizes {
  /** The platform's data directory; made if absent. */
  readonly dataDir: string
  /** Receives what the server and its launcher have to say, a line at a time. */
  readonly log: (line: string) => void
  /** The lock on `dataDir` when the caller holds it already; otherwise it is taken here and released by stop(). */
  readonly lock?: DataDirLock | undefined
  /** As whom PostgreSQL runs when we are root: a name, `uid` or `uid:gid`; see `chooseAccount` for the default. */
  readonly runAs?: string | undefined
  /** False gives up crash safety for speed: a commit is then not yet on disk. Default true. */
  readonly durable?: boolean | undefined
  /** Where root keeps what PostgreSQL's user cannot reach elsewhere. Default /var/lib/svc. */
  readonly systemDir?: string | undefined
}

export interface EmbeddedPostgres extends AsyncDisposable {
  /** A URL for `pg` and libpq, over the Unix socket; its user is superuser. */
  readonly connectionString: string
  readonly socketDir: string
  /** The postmaster's process id. */
  readonly pid: number
  /** Settles when the server's process has ended, for whatever reason. */
  readonly exited: Promise<PostgresExit>
  /** Calls the listener when the server ends without stop(). To start it again, call stop() first. */
  onExit(listener: (exit: PostgresExit) => void): void
  /** Fast shutdown; immediate after 5 s, kill after 8 s. Resolves when the server is gone; may be repeated. */
  stop(): Promise<void>
}

/**
 * Starts the control database of a data directory, creating it the first time, and resolves once it answers.
 * Throws a StartupError for everything the operator can mend: a directory in use, a full or read-only disk,
 * a missing platform package, a cluster of another version or user.
 */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const { log, durable = true, systemDir = "/var/lib/svc" } = options
  await using opened = new AsyncDisposableStack()
  const installed = locateBinaries()
  const { dataDir } = options.lock ?? opened.use(acquireDataDirLock(options.dataDir))

  const place = { runAs: options.runAs, dataDir, cluster: join(dataDir, "postgres") }
  const named = chooseAccount(place)
  const account = accountOfServer(named, place)
  const { cluster, link } = placeCluster({ dataDir, systemDir, account })
  if (link !== undefined) {
    log(`the control database goes to ${cluster}, because the user ${account?.name} cannot reach ${dataDir}`)
    makePassageDir(dirname(cluster))
  }
  // Two data directories may link to one cluster (a copied project), so that one is locked too.
  if (dirname(cluster) !== dataDir) opened.use(acquireDataDirLock(dirname(cluster)))
  if (link !== undefined) setAside(cluster, log)

  const stagingDir = account ? systemDir : dataDir
  const binaries = await prepareBinaries(installed, { account, stagingDir, log })
  const { password, isNew } = passwordOf(dataDir)
  const socketDir = placeSocket({ dataDir, cluster, account })
  if (existsSync(cluster))
    await takeOver({ binaries, cluster, socketDir, account, named, password, isNew, log })
  await ensureCluster({ binaries, cluster, account, named, password, durable, log })
  if (link !== undefined) onDisk(`link ${link} to ${cluster}`, () => symlinkSync(cluster, link))

  makePrivateDir(socketDir, account)
  await clearLeftovers(cluster, socketDir, log)

  const settings = serverSettings({ ...options, socketDir, durable })
  const server = await startServer({ binaries, cluster, settings, account, log })
  opened.defer(() => server.stop())
  await ensureDatabase(socketDir, password)

  const owned = opened.move()
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= owned.disposeAsync()
    return stopped
  }
  return {
    connectionString: `postgresql://${DATABASE}:${password}@/${DATABASE}?host=${encodeURIComponent(socketDir)}&port=${SOCKET_PORT}`,
    socketDir,
    pid: server.pid,
    exited: server.exited,
    onExit: listener => void server.exited.then(exit => exit.expected || listener(exit)),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** A cluster to which no data directory links is what remains of a deleted one, and must not come back to life. */
const setAside = (cluster: string, log: (line: string) => void): void => {
  if (!existsSync(cluster)) return
  const aside = `${cluster}.unlinked-${process.pid}-${Date.now()}`
  onDisk(`move ${cluster} aside`, () => renameSync(cluster, aside))
  log(`the data directory of an older control database was removed; that database is now at ${aside}`)
}

/** Also the proof that the server answers; an interrupted first start may have left the database out. */
const ensureDatabase = async (socketDir: string, password: string): Promise<void> => {
  const client = new pg.Client({
    ...{ host: socketDir, port: SOCKET_PORT, user: DATABASE, password, database: "postgres", ssl: false },
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
  })
  try {
    await client.connect()
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`)
  } catch (error) {
    throw unanswered(error)
  } finally {
    await client.end()
  }
}

const WRONG_PASSWORD = "28P01"

const unanswered = (error: unknown): StartupError => {
  if (error instanceof Error && "code" in error && error.code === WRONG_PASSWORD)
    return new StartupError(
      `The control database has another password than ${PASSWORD_FILE} in the data directory.`,
      `Restore that file, or remove it: the next start sets a new password.`,
      { cause: error },
    )
  return new StartupError(
    `The control database started but does not answer: ${error instanceof Error ? error.message : error}.`,
    "Mend what it names, or set SVC_DATABASE_URL to an existing PostgreSQL.",
    { cause: error },
  )
}
