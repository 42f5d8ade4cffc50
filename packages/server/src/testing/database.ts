import { randomBytes } from "node:crypto"
import { chmod, mkdtemp, rm, statfs } from "node:fs/promises"
import { freemem, tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { startEmbeddedPostgres } from "../kernel/db/embedded/start.ts"
import { migrate } from "../kernel/db/migrate.ts"
import { migrationSources } from "../migration-sources.ts"

/** Set by `npm test` for the test files it starts; a file run alone starts a server of its own. */
const SERVER_VARIABLE = "SVC_TEST_SERVER"
const TEMPLATE = "svc_template"

const onServer = async <Result>(
  server: string,
  database: string,
  work: (client: pg.Client) => Promise<Result>,
) => {
  const client = new pg.Client({ connectionString: databaseUrl(server, database) })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The server's connection string, with another database in it. */
export const databaseUrl = (server: string, database: string): string => {
  const [user, rest = ""] = server.split("@")
  return `${user}@/${database}${rest.slice(rest.indexOf("?"))}`
}

/** A folder for the templates of tenant databases, which servers of other users read. */
export const makeTemplatesDir = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-templates-"))
  await chmod(folder, 0o711)
  return folder
}

const IN_MEMORY = "/dev/shm"
const TMPFS = 0x01021994 // statfs(2)
/** Several times what the server of all tests comes to, its log included. */
const ROOM_BYTES = 8 * 2 ** 30

/**
 * Where the server's files go. Each clone is some 800 files that are soon deleted, and ext4 passes over all that were
 * deleted in the last minutes whenever it makes another one: before long that is most of what a test takes.
 */
const serverParent = async (): Promise<string> => {
  const memory = await statfs(IN_MEMORY).catch(() => undefined)
  const isRoomy = memory?.type === TMPFS && Math.min(memory.bavail * memory.bsize, freemem()) >= ROOM_BYTES
  return isRoomy ? IN_MEMORY : tmpdir()
}

/** A PostgreSQL for tests, without fsync, with the migrated template that every test clones. */
export const startTestServer = async (): Promise<{ url: string } & AsyncDisposable> => {
  const dataDir = await mkdtemp(join(await serverParent(), "svc-test-"))
  // So that its own user passes, and has nothing elsewhere.
  await chmod(dataDir, 0o711)
  const postgres = await startEmbeddedPostgres({
    dataDir,
    durable: false,
    maxConnections: 200,
    log: () => undefined,
  })
  const url = postgres.connectionString
  await onServer(url, "postgres", client => client.query(`CREATE DATABASE ${TEMPLATE}`))
  const pool = new pg.Pool({ connectionString: databaseUrl(url, TEMPLATE), max: 1 })
  pool.on("error", () => undefined)
  await migrate(pool, migrationSources())
  await pool.end()
  return {
    url,
    async [Symbol.asyncDispose]() {
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

let own: ReturnType<typeof startTestServer> | undefined

const serverUrl = async (): Promise<string> => {
  const given = process.env[SERVER_VARIABLE]
  if (given !== undefined) return given
  if (!own) {
    own = startTestServer()
    process.once("beforeExit", async () => (await own)?.[Symbol.asyncDispose]())
  }
  return (await own).url
}

/** A database of the test's own, cloned from the template in some tens of milliseconds. */
export const cloneDatabase = async (): Promise<{ url: string } & AsyncDisposable> => {
  const server = await serverUrl()
  const name = `test_${randomBytes(6).toString("hex")}`
  await onServer(server, "postgres", client =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`),
  )
  return {
    url: databaseUrl(server, name),
    async [Symbol.asyncDispose]() {
      await onServer(server, "postgres", client => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
    },
  }
}
