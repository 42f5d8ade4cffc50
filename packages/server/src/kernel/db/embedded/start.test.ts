import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { StartupError } from "../../startup-error.ts"
import { acquireDataDirLock } from "./lock.ts"
import { postgresProcessesOf } from "./processes.ts"
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from "./start.ts"
import { spawnStarter, started } from "./testing/child-processes.ts"
import { atEnd, credentialsOf, isRoot, nobody, query, temporaryDir } from "./testing/directories.ts"

const rootOnly = { skip: isRoot ? false : "needs root" }
const linuxOnly = { skip: process.platform === "linux" ? false : "needs /proc" }

const start = async (t: TestContext, options: Partial<EmbeddedPostgresOptions> & { dataDir: string }) => {
  const server = await startEmbeddedPostgres({ durable: false, log: () => {}, ...options })
  atEnd(t, () => server.stop())
  return server
}

test("a running server", async t => {
  const dataDir = temporaryDir(t)
  const lines: string[] = []
  const { connectionString, socketDir, pid } = await start(t, { dataDir, log: line => lines.push(line) })

  await t.test("has a UTF-8 database with checksums that is reached by its socket alone", async () => {
    const [database] = await query(
      connectionString,
      `SELECT current_user::text AS "user", datname::text AS name, pg_encoding_to_char(encoding)::text AS encoding,
         datlocprovider::text AS provider, datlocale AS locale, current_setting('data_checksums') AS checksums,
         current_setting('listen_addresses') AS addresses, current_setting('server_version_num')::int / 10000 AS major
       FROM pg_database WHERE datname = current_database()`,
    )
    assert.deepEqual(database, {
      ...{ user: "svc", name: "svc", encoding: "UTF8", provider: "b", locale: "C.UTF-8" },
      ...{ checksums: "on", addresses: "", major: 18 },
    })
    assert.equal(statSync(socketDir).mode & 0o777, 0o700)
  })

  await t.test("takes at most 35 MB when idle", linuxOnly, () => {
    const kilobytes = postgresProcessesOf(join(dataDir, "postgres")).map(id =>
      Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))?.[1]),
    )
    const total = kilobytes.reduce((sum, each) => sum + each, 0)
    t.diagnostic(`idle PSS: ${kilobytes.join(" + ")} = ${total} kB`)
    assert.ok(kilobytes.length >= 4 && total > 0 && total <= 35 * 1024, `${kilobytes} kB`)
  })

  await t.test("is outside of our process group, so that Ctrl-C does not reach it", linuxOnly, () => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    assert.equal(Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]), pid)
  })

  await t.test("logs that it is ready, and nothing of a failed statement's values", async () => {
    await assert.rejects(query(connectionString, "SELECT 'secret-value'::int"))
    await query(connectionString, "CHECKPOINT")
    assert.ok(lines.some(line => line.includes("ready to accept connections")))
    assert.ok(!lines.some(line => line.includes("secret-value")))
  })
})

test("a durable database syncs every commit, and keeps its rows and its seclusion over a restart", async t => {
  const dataDir = temporaryDir(t)
  const first = await start(t, { dataDir, durable: true })
  await query(first.connectionString, "CREATE TABLE kept AS SELECT 7 AS value")
  const [settings] = await query(
    first.connectionString,
    "SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit",
  )
  assert.deepEqual(settings, { fsync: "on", commit: "on" })
  await first.stop()

  // What somebody wrote into the cluster's files must not open it to the network.
  writeFileSync(join(dataDir, "postgres/postgresql.auto.conf"), "listen_addresses = '*'\nport = 5999\n")
  const second = await start(t, { dataDir, durable: true })
  assert.deepEqual(await query(second.connectionString, "SHOW listen_addresses"), [{ listen_addresses: "" }])
  assert.deepEqual(await query(second.connectionString, "SELECT value FROM kept"), [{ value: 7 }])
})

test("stop() ends the server, may be repeated, and is no unexpected exit", async t => {
  const dataDir = temporaryDir(t)
  const server = await start(t, { dataDir })
  server.onExit(() => assert.fail("onExit was called for a stop"))
  await Promise.all([server.stop(), server.stop()])
  await server.stop()
  assert.deepEqual(await server.exited, { code: 0, signal: null, expected: true })
  assert.deepEqual(postgresProcessesOf(join(dataDir, "postgres")), [])
  assert.deepEqual(readdirSync(dataDir).sort(), ["control.secret", "postgres", "run"])
})

test("the server's death is told, and the same process can start it again under its own lock", async t => {
  const dataDir = temporaryDir(t)
  using lock = acquireDataDirLock(dataDir)
  const server = await start(t, { dataDir, lock })
  const told = new Promise(resolve => server.onExit(resolve))
  process.kill(server.pid, "SIGKILL")
  assert.deepEqual(await told, { code: null, signal: "SIGKILL", expected: false })
  await server.stop()

  const again = await start(t, { dataDir, lock })
  assert.deepEqual(await query(again.connectionString, "SELECT 1 AS one"), [{ one: 1 }])
  await again.stop()
})

test("a Node process that ends without stop() takes the server along", async t => {
  const dataDir = temporaryDir(t)
  const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(import.meta.resolve("./start.ts"))})
    await startEmbeddedPostgres({ dataDir: process.argv[1], durable: false, log: () => {} })
    process.exit(3)`
  assert.throws(
    () => execFileSync(process.execPath, ["--input-type=module", "-e", script, dataDir], { stdio: "ignore" }),
    (error: { status?: number }) => error.status === 3,
  )
  await eventually("no server is left", () => postgresProcessesOf(join(dataDir, "postgres")).length === 0)
})

test("a path too long for a socket gets one in the temporary directory", async t => {
  const dataDir = join(temporaryDir(t), "long".repeat(25))
  const { connectionString, socketDir } = await start(t, { dataDir })
  atEnd(t, () => rmSync(socketDir, { recursive: true, force: true }))
  assert.ok(socketDir.startsWith(join(tmpdir(), "svc-")))
  assert.equal(statSync(socketDir).mode & 0o777, 0o700)
  assert.deepEqual(await query(connectionString, "SELECT 1 AS one"), [{ one: 1 }])
})

test("commas, quotes, spaces and percent signs in the path do no harm", async t => {
  const dataDir = join(temporaryDir(t), `a, "b" 100% 'c' ü`)
  const { connectionString } = await start(t, { dataDir })
  assert.deepEqual(await query(connectionString, "SELECT 1 AS one"), [{ one: 1 }])
})

test("the environment's settings for other PostgreSQL servers are not ours", async t => {
  const child = spawnStarter(
    t,
    { dataDir: temporaryDir(t) },
    { env: { PGPORT: "1", PGHOST: "nowhere", PGSSLMODE: "require", PGDATA: "/nowhere", PGUSER: "x" } },
  )
  const { connectionString } = await started(child)
  assert.deepEqual(await query(connectionString, "SELECT 1 AS one"), [{ one: 1 }])
})

test(
  "started by root, the server runs as the owner of the data directory without our groups",
  rootOnly,
  async t => {
    const dataDir = temporaryDir(t, { uid: nobody.uid, mode: 0o700 })
    const { pid } = await start(t, { dataDir })
    assert.deepEqual(credentialsOf(pid), { uid: nobody.uid, gid: nobody.gid, groups: "" })
  },
)

test("started by root, runAs names the user, and a cluster of another user is refused", rootOnly, async t => {
  const dataDir = temporaryDir(t)
  const server = await start(t, { dataDir, runAs: "1:2" })
  assert.deepEqual(credentialsOf(server.pid), { uid: 1, gid: 2, groups: "" })
  await server.stop()

  await assert.rejects(start(t, { dataDir, runAs: "4321" }), {
    name: "StartupError",
    message: /belongs to user 1.*4321/,
  })
  await assert.rejects(start(t, { dataDir, runAs: "root" }), {
    message: "PostgreSQL refuses to run as root.",
  })
  await assert.rejects(start(t, { dataDir, runAs: "no-such-user" }), { message: /no user no-such-user/ })
  // Without the setting it is the owner of the cluster again.
  assert.equal(credentialsOf((await start(t, { dataDir })).pid).uid, 1)
})

test(
  "a user unknown to this machine is refused for a new cluster, and passed over as owner",
  rootOnly,
  async t => {
    await assert.rejects(start(t, { dataDir: temporaryDir(t), runAs: "4321" }), {
      name: "StartupError",
      message: /cannot be created as user 4321, which \/etc\/passwd does not list/,
    })
    const { pid } = await start(t, { dataDir: temporaryDir(t, { uid: 4321 }) })
    assert.notEqual(credentialsOf(pid).uid, 4321)
  },
)

test("an ordinary user runs it as himself", rootOnly, async t => {
  const dataDir = temporaryDir(t, { uid: nobody.uid, mode: 0o700 })
  const { pid } = await started(
    spawnStarter(t, { dataDir: join(dataDir, "data") }, { uid: nobody.uid, gid: nobody.gid }),
  )
  assert.equal(credentialsOf(pid).uid, nobody.uid)
  assert.equal(statSync(join(dataDir, "data")).mode & 0o777, 0o700)
})

test(
  "a data directory closed to PostgreSQL's user keeps its cluster in the system directory",
  rootOnly,
  async t => {
    const dataDir = temporaryDir(t, { mode: 0o700 })
    const systemDir = join(temporaryDir(t), "svc")
    const first = await start(t, { dataDir, systemDir })
    await query(first.connectionString, "CREATE TABLE kept AS SELECT 7 AS value")
    const cluster = readlinkSync(join(dataDir, "postgres"))
    assert.ok(cluster.startsWith(join(systemDir, "data-")))
    await first.stop()

    const second = await start(t, { dataDir, systemDir })
    assert.deepEqual(await query(second.connectionString, "SELECT value FROM kept"), [{ value: 7 }])

    await t.test("a copy of the data directory cannot open the same cluster beside it", async () => {
      const copy = temporaryDir(t, { mode: 0o700 })
      execFileSync("cp", ["-a", join(dataDir, "postgres"), copy])
      await assert.rejects(start(t, { dataDir: copy, systemDir }), { message: /already in use/ })
    })
    await second.stop()

    await t.test("removing the data directory starts afresh and keeps the old cluster aside", async () => {
      rmSync(join(dataDir, "postgres"))
      const fresh = await start(t, { dataDir, systemDir })
      assert.deepEqual(await query(fresh.connectionString, "SELECT to_regclass('kept') AS kept"), [
        { kept: null },
      ])
      assert.ok(readdirSync(join(cluster, "..")).some(name => name.startsWith("postgres.unlinked-")))
      await fresh.stop()
    })

    await t.test("a cluster that vanished is not replaced by an empty one", async () => {
      rmSync(cluster, { recursive: true })
      await assert.rejects(start(t, { dataDir, systemDir }), { message: /does not exist/ })
      assert.ok(lstatSync(join(dataDir, "postgres")).isSymbolicLink())
    })
  },
)

test("a socket directory that another user prepared is refused", rootOnly, async t => {
  const dataDir = temporaryDir(t)
  mkdirSync(join(dataDir, "run"))
  execFileSync("chown", ["4242", join(dataDir, "run")])
  await assert.rejects(start(t, { dataDir }), (error: unknown) => {
    assert.ok(error instanceof StartupError)
    assert.match(error.message, /already exists and does not belong/)
    return true
  })
})

test("a directory in use by another process is refused", async t => {
  const dataDir = temporaryDir(t)
  const holder = spawnStarter(t, { dataDir })
  await started(holder)
  await assert.rejects(start(t, { dataDir }), {
    name: "StartupError",
    message: `The data directory ${dataDir} is in use by another Svc, process ${holder.pid}.`,
  })
})
