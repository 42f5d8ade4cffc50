import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { StartupError } from "../startup-error.ts"

/** Forward-only SQL files of one schema, in the order of their names: `0001_entries.sql`, `0002_….sql`. */
export interface MigrationSource {
  readonly schema: string
  readonly folder: string
}

interface Migration {
  readonly schema: string
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** One number, known to every version of Svc, so that processes that start at once take turns. */
const ADVISORY_LOCK = 5_763_001

const LEDGER = `
  CREATE SCHEMA IF NOT EXISTS kernel;
  CREATE TABLE IF NOT EXISTS kernel.migrations (
    schema text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (schema, name)
  )`

const load = async (sources: readonly MigrationSource[]): Promise<Migration[]> => {
  const loaded = sources.map(async ({ schema, folder }) => {
    const names = (await readdir(folder)).filter(name => name.endsWith(".sql")).sort()
    return Promise.all(
      names.map(async name => {
        const sql = await readFile(join(folder, name), "utf8")
        return { schema, name, sql, sha256: createHash("sha256").update(sql).digest("hex") }
      }),
    )
  })
  return (await Promise.all(loaded)).flat()
}

const readLedger = async (client: pg.ClientBase | pg.Pool) => {
  const { rows } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('kernel.migrations') IS NOT NULL AS exists",
  )
  if (!rows[0]?.exists) return new Map<string, string>()
  const applied = await client.query<{ schema: string; name: string; sha256: string }>(
    "SELECT schema, name, sha256 FROM kernel.migrations",
  )
  return new Map(applied.rows.map(row => [`${row.schema}/${row.name}`, row.sha256]))
}

/** The migrations still to run. Refuses a database that a newer or a different Svc has written. */
const pending = (migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] => {
  const known = new Set(migrations.map(({ schema, name }) => `${schema}/${name}`))
  const unknown = [...applied.keys()].filter(id => !known.has(id))
  if (unknown.length > 0) {
    throw new StartupError(
      `The database was migrated by a newer version of Svc (${unknown.join(", ")}).`,
      "Start that version, or restore a copy of the data from before the upgrade.",
    )
  }
  for (const { schema, name, sha256 } of migrations) {
    const ran = applied.get(`${schema}/${name}`)
    if (ran !== undefined && ran !== sha256) {
      throw new StartupError(
        `Migration ${schema}/${name} differs from the one this database ran.`,
        "Migrations never change once released: restore the file, and put the change into a new one.",
      )
    }
  }
  return migrations.filter(({ schema, name }) => !applied.has(`${schema}/${name}`))
}

/** Brings every schema up to date. Several processes may call this at once; each migration runs exactly once. */
export const migrate = async (pool: pg.Pool, sources: readonly MigrationSource[]): Promise<void> => {
  const migrations = await load(sources)
  // The usual start has nothing to run, and then needs neither the lock nor a write.
  if (pending(migrations, await readLedger(pool)).length === 0) return
  // Without the pool's limit: neither a long migration nor the wait for another process's is a statement gone wrong.
  const client = new pg.Client({ ...pool.options, statement_timeout: 0 })
  // A connection that breaks fails the query under way; that is enough.
  client.on("error", () => undefined)
  await client.connect()
  try {
    await client.query("SELECT pg_advisory_lock($1)", [ADVISORY_LOCK])
    await client.query(LEDGER)
    for (const migration of pending(migrations, await readLedger(client))) await run(client, migration)
  } finally {
    // Its end gives the lock back and undoes a migration that failed, whatever happened.
    await client.end()
  }
}

const run = async (client: pg.ClientBase, { schema, name, sql, sha256 }: Migration): Promise<void> => {
  try {
    await client.query("BEGIN")
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
    await client.query(sql)
    await client.query("INSERT INTO kernel.migrations (schema, name, sha256) VALUES ($1, $2, $3)", [
      schema,
      name,
      sha256,
    ])
    await client.query("COMMIT")
  } catch (error) {
    throw new StartupError(`Migration ${schema}/${name} failed: ${error}.`, "Nothing of it was applied.", {
      cause: error,
    })
  }
}
