/**
 * Clients that others wrote, with the connection string as it is printed. Those of Python, Go and Java are
 * installed outside of this tree by `node tools/clients.ts`, which then runs this file with SVC_TEST_CLIENTS.
 */
import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { drizzle } from "drizzle-orm/node-postgres"
import { integer, pgTable, text } from "drizzle-orm/pg-core"
import pg from "pg"
import postgres from "postgres"
import type { Ends } from "../../../testing/ends.ts"
import { platform } from "../../../testing/platform.ts"

const run = promisify(execFile)
const installed = process.env.SVC_TEST_CLIENTS ?? "/nonexistent"
const python = join(installed, "python", "bin", "python")
const withoutPython = existsSync(python) ? false : "node tools/clients.ts has not installed Python's clients"
const pgx = join(installed, "go", "clients")
const withoutGo = existsSync(pgx) ? false : "node tools/clients.ts has not installed Go's"
const java = join(installed, "java")
const withoutJava = existsSync(join(java, "postgresql.jar"))
  ? false
  : "node tools/clients.ts has not installed Java's"

const hasPsql = (): boolean => {
  try {
    execFileSync("psql", ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const withoutPsql = hasPsql() ? false : "psql is not installed"

const folderFor = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-clients-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** What is opened before the tests of a suite, and closed after them, last first. */
const createEnds = () => {
  const all: (() => unknown)[] = []
  return {
    after: (end: () => unknown) => void all.unshift(end),
    async run() {
      for (const end of all) await end()
    },
  }
}

interface Place {
  /** As the API prints it. */
  readonly uri: string
  /** The one of the pooler. */
  readonly pooledUri: string
  /** A file with what the API gives as the certificate authority. */
  readonly caFile: string
}

const start = async (ends: Ends, env: Record<string, string>): Promise<Place> => {
  const p = await platform(ends, { env })
  const svc = await p.client("acme", "database:manage", "database:query")
  const { connection_uri: uri, pooled_connection_uri: pooledUri } = await svc.databases.create({
    name: "shop",
  })
  const { certificate } = await svc.databases.certificateAuthority()
  assert.ok(uri !== undefined && pooledUri !== undefined && certificate !== null)
  const folder = await mkdtemp(join(tmpdir(), "svc-authority-"))
  ends.after(() => rm(folder, { recursive: true, force: true }))
  const caFile = join(folder, "svc-ca.pem")
  await writeFile(caFile, certificate)
  return { uri, pooledUri, caFile }
}

const items = pgTable("items", { id: integer().primaryKey(), name: text().notNull() })

const viaPg = async (connectionString: string): Promise<unknown> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query("select $1::int + 1 as n", [41])).rows[0].n
  } finally {
    await client.end()
  }
}

const viaPostgres = async (url: string, options: postgres.Options<Record<string, never>> = {}) => {
  const sql = postgres(url, { max: 1, ...options })
  try {
    const [row] = await sql`select ${41}::int + 1 as n`
    return row?.n
  } finally {
    await sql.end()
  }
}

const viaPsql = async (uri: string): Promise<number> =>
  Number((await run("psql", ["-XAt", uri, "-c", "select 41 + 1"])).stdout)

const ofPython: Readonly<Record<string, string>> = {
  psycopg:
    "import psycopg, sys\nwith psycopg.connect(sys.argv[1]) as c: print(c.execute('select %s + 1', (41,)).fetchone()[0])",
  SQLAlchemy: [
    "import sqlalchemy as s, sys",
    "e = s.create_engine(sys.argv[1].replace('postgresql://', 'postgresql+psycopg://', 1))",
    "with e.connect() as c: print(c.execute(s.text('select :n + 1'), {'n': 41}).scalar())",
  ].join("\n"),
  asyncpg: [
    "import asyncio, asyncpg, sys",
    "async def main():",
    "  c = await asyncpg.connect(sys.argv[1])",
    "  print(await c.fetchval('select $1::int + 1', 41))",
    "  await c.close()",
    "asyncio.run(main())",
  ].join("\n"),
}

const viaPython = async (program: string, uri: string): Promise<number> =>
  Number((await run(python, ["-c", program, uri])).stdout)

const viaPgx = async (uri: string): Promise<number> => Number((await run(pgx, [uri])).stdout)

/** The string as JDBC wants it: user and password behind the address. */
const jdbcOf = (uri: string): string => {
  const url = new URL(uri)
  url.searchParams.set("user", url.username)
  url.searchParams.set("password", url.password)
  return `jdbc:postgresql://${url.host}${url.pathname}?${url.searchParams}`
}

const viaJdbc = async (uri: string): Promise<number> =>
  Number(
    (await run("java", ["-cp", `${java}:${join(java, "postgresql.jar")}`, "Clients", jdbcOf(uri)])).stdout,
  )

describe("the printed connection string of a platform on this machine", () => {
  const ends = createEnds()
  let place: Place
  before(async () => {
    place = await start(ends, {})
  })
  after(ends.run)

  test("says nothing of TLS", () => {
    assert.equal(new URL(place.uri).search, "")
  })

  test("works in psql", { skip: withoutPsql }, async () => {
    assert.equal(await viaPsql(place.uri), 42)
  })

  test("works in pg", async () => {
    assert.equal(await viaPg(place.uri), 42)
  })

  test("works in postgres", async () => {
    assert.equal(await viaPostgres(place.uri), 42)
  })

  test("works in Drizzle, and its kit makes the tables there and reads them back", async t => {
    const folder = await folderFor(t)
    // The kit and the schema find their packages from here.
    const root = fileURLToPath(new URL("../../../../../../", import.meta.url))
    const schema = join(folder, "schema.ts")
    await writeFile(
      schema,
      `import { integer, pgTable, text } from "${root}node_modules/drizzle-orm/pg-core/index.js"\n` +
        `export const items = pgTable("items", { id: integer().primaryKey(), name: text().notNull() })\n`,
    )
    const config = join(folder, "drizzle.config.ts")
    const settings = {
      dialect: "postgresql",
      schema,
      out: join(folder, "out"),
      dbCredentials: { url: place.uri },
    }
    await writeFile(config, `export default ${JSON.stringify(settings)}\n`)
    const kit = join(root, "node_modules", "drizzle-kit", "bin.cjs")
    const { stdout } = await run(process.execPath, [kit, "push", "--force", `--config=${config}`], {
      cwd: root,
    })
    assert.match(stdout, /Changes applied/)
    const db = drizzle(place.uri)
    t.after(() => db.$client.end())
    await db.insert(items).values({ id: 1, name: "bolt" })
    assert.deepEqual(await db.select().from(items), [{ id: 1, name: "bolt" }])
    await mkdir(join(folder, "out"), { recursive: true })
    const pulled = await run(process.execPath, [kit, "pull", `--config=${config}`], { cwd: root })
    assert.match(pulled.stdout, /1\s+tables/)
  })

  for (const [name, program] of Object.entries(ofPython)) {
    test(`works in ${name}`, { skip: withoutPython }, async () => {
      assert.equal(await viaPython(program, place.uri), 42)
    })
  }

  test("works in pgx", { skip: withoutGo }, async () => {
    assert.equal(await viaPgx(place.uri), 42)
  })

  test("works in JDBC, also bound to its TLS connection", { skip: withoutJava }, async () => {
    assert.equal(await viaJdbc(place.uri), 42)
    assert.equal(await viaJdbc(`${place.uri}?sslmode=require&channelBinding=require`), 42)
  })
})

/** Twice each, so that the second time meets connections that the first has used. */
const twice = async (run: () => Promise<unknown>): Promise<void> => {
  for (let turn = 0; turn < 2; turn++) assert.equal(await run(), 42)
}

describe("the pooled connection string", () => {
  const ends = createEnds()
  let place: Place
  before(async () => {
    place = await start(ends, {})
  })
  after(ends.run)

  test("works in psql, also bound to its TLS connection", { skip: withoutPsql }, async () => {
    await twice(() => viaPsql(place.pooledUri))
    await twice(() => viaPsql(`${place.pooledUri}?sslmode=require&channel_binding=require`))
  })

  test("works in pg, postgres and Drizzle", async t => {
    await twice(() => viaPg(place.pooledUri))
    await twice(() => viaPostgres(place.pooledUri))
    const db = drizzle(place.pooledUri)
    t.after(() => db.$client.end())
    await db.execute("create table items (id int primary key, name text not null)")
    await db.transaction(async tx => {
      await tx.insert(items).values({ id: 1, name: "bolt" })
      assert.deepEqual(await tx.select().from(items), [{ id: 1, name: "bolt" }])
    })
    assert.deepEqual(await db.select().from(items), [{ id: 1, name: "bolt" }])
  })

  for (const [name, program] of Object.entries(ofPython)) {
    test(`works in ${name}`, { skip: withoutPython }, () => twice(() => viaPython(program, place.pooledUri)))
  }

  test("works in psycopg bound to its TLS connection", { skip: withoutPython }, () =>
    twice(() =>
      viaPython(ofPython.psycopg ?? "", `${place.pooledUri}?sslmode=require&channel_binding=require`),
    ),
  )

  test("works in pgx", { skip: withoutGo }, () => twice(() => viaPgx(place.pooledUri)))

  test("works in JDBC, also bound to its TLS connection", { skip: withoutJava }, async () => {
    await twice(() => viaJdbc(place.pooledUri))
    await twice(() => viaJdbc(`${place.pooledUri}?sslmode=require&channelBinding=require`))
  })
})

describe("where TLS is required, the printed connection string", () => {
  const ends = createEnds()
  let place: Place
  const checked = () =>
    `${place.uri.replace("sslmode=require", "sslmode=verify-full")}&sslrootcert=${place.caFile}`
  /** The same with the branch in the host name, as TLS says it, and out of the user's. */
  const bySni = () => {
    const url = new URL(checked())
    const [user = "", branchId = ""] = url.username.split(".")
    url.username = user
    url.hostname = `${branchId}.localhost`
    return url.href
  }
  before(async () => {
    place = await start(ends, { SVC_POSTGRES_TLS: "always" })
  })
  after(ends.run)

  test("says so, and works where the driver takes it as it is", { skip: withoutPsql }, async () => {
    assert.equal(new URL(place.uri).search, "?sslmode=require")
    assert.equal(await viaPsql(place.uri), 42)
    assert.equal(await viaPostgres(place.uri), 42)
  })

  test("works in psql with the certificate checked, by the host and by a name below it", {
    skip: withoutPsql,
  }, async () => {
    assert.equal(await viaPsql(checked()), 42)
    assert.equal(await viaPsql(`${bySni()}&hostaddr=127.0.0.1`), 42)
    const wrongHost = checked().replace("@localhost:", "@127.0.0.2:")
    await assert.rejects(viaPsql(wrongHost), /certificate|refused/)
  })

  test("works with channel_binding=require in psql and psycopg", { skip: withoutPsql }, async t => {
    assert.equal(await viaPsql(`${place.uri}&channel_binding=require`), 42)
    const { psycopg = "" } = ofPython
    if (withoutPython) t.diagnostic(withoutPython)
    else assert.equal(await viaPython(psycopg, `${place.uri}&channel_binding=require`), 42)
  })

  test("works in pg with the certificate checked", async () => {
    assert.equal(await viaPg(checked()), 42)
    await assert.rejects(viaPg(place.uri.replace("sslmode=require", "sslmode=verify-full")), /certificate/)
  })

  test("works in postgres with the certificate checked", async () => {
    const ssl = { ca: await readFile(place.caFile, "utf8") }
    assert.equal(await viaPostgres(place.uri, { ssl }), 42)
  })

  for (const [name, program] of Object.entries(ofPython)) {
    test(`works in ${name} with the certificate checked`, { skip: withoutPython }, async () => {
      assert.equal(await viaPython(program, checked()), 42)
    })
  }

  test("works in pgx with the certificate checked", { skip: withoutGo }, async () => {
    assert.equal(await viaPgx(checked()), 42)
  })

  test("works in JDBC with the certificate checked", { skip: withoutJava }, async () => {
    assert.equal(await viaJdbc(checked()), 42)
  })
})
