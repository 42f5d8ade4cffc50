import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { eventually } from "../../../testing/eventually.ts"
import { isLiving, postgresProcessesOf, signalProcess } from "./processes.ts"
import { startEmbeddedPostgres } from "./start.ts"
import { killHard, spawnStarter, started } from "./testing/child-processes.ts"
import { atEnd, credentialsOf, query, temporaryDir } from "./testing/directories.ts"

const linuxOnly = { skip: process.platform === "linux" ? false : "needs /proc" }

const start = async (t: TestContext, dataDir: string) => {
  const lines: string[] = []
  const server = await startEmbeddedPostgres({ dataDir, durable: true, log: line => lines.push(line) })
  atEnd(t, () => server.stop())
  return { ...server, lines }
}

/** Years of computing without a wait in which the backend would notice that its postmaster is gone. */
const ENDLESS = `SELECT count(*) FROM ${["a", "b", "c", "d"].map(n => `generate_series(1, 9999) AS ${n}`).join(", ")}`

/** A server on which one row was committed, and the Node process that started it. */
const startWithRow = async (t: TestContext, dataDir: string) => {
  const node = spawnStarter(t, { dataDir, durable: true })
  const server = await started(node)
  await query(server.connectionString, "CREATE TABLE kept AS SELECT 7 AS value")
  return { node, server }
}

const keptRow = (connectionString: string) => query(connectionString, "SELECT value FROM kept")

test("a server that outlived its Node process is shut down cleanly, then started again", async t => {
  const dataDir = temporaryDir(t)
  const { node, server } = await startWithRow(t, dataDir)
  await killHard(node)
  assert.ok(isLiving(server.pid))

  const again = await start(t, dataDir)
  assert.ok(
    again.lines.includes(`shutting down the PostgreSQL process ${server.pid} that outlived the last Svc`),
  )
  assert.ok(again.lines.some(line => line.includes("database system was shut down at")))
  assert.ok(!postgresProcessesOf(join(dataDir, "postgres")).includes(server.pid))
  assert.deepEqual(await keptRow(again.connectionString), [{ value: 7 }])
})

test("after kill -9 of every process the committed rows are there", linuxOnly, async t => {
  const dataDir = temporaryDir(t)
  const { node } = await startWithRow(t, dataDir)
  const cluster = join(dataDir, "postgres")
  // Some end by themselves as soon as the first is gone.
  for (const pid of postgresProcessesOf(cluster)) signalProcess(pid, "SIGKILL")
  await killHard(node)
  await eventually("every process is gone", () => postgresProcessesOf(cluster).length === 0)
  assert.ok(existsSync(join(cluster, "postmaster.pid")))

  const again = await start(t, dataDir)
  assert.deepEqual(await keptRow(again.connectionString), [{ value: 7 }])
})

test("a backend that outlived a killed postmaster is ended first", linuxOnly, async t => {
  const dataDir = temporaryDir(t)
  const { node, server } = await startWithRow(t, dataDir)
  const client = new pg.Client({ connectionString: server.connectionString })
  client.on("error", () => {})
  await client.connect()
  const [backend] = (await client.query("SELECT pg_backend_pid() AS pid")).rows
  const endless = client.query(ENDLESS).catch(() => "broken")
  await eventually("the query runs", () =>
    /SELECT/.test(readFileSync(`/proc/${backend.pid}/cmdline`, "latin1")),
  )
  process.kill(server.pid, "SIGKILL")
  await killHard(node)

  const again = await start(t, dataDir)
  assert.equal(await endless, "broken")
  assert.ok(!postgresProcessesOf(join(dataDir, "postgres")).includes(backend.pid))
  assert.deepEqual(await keptRow(again.connectionString), [{ value: 7 }])
})

test(
  "lock files that name a living stranger of the same user do not prevent the start",
  linuxOnly,
  async t => {
    const dataDir = temporaryDir(t)
    const { node, server } = await startWithRow(t, dataDir)
    const { uid, gid } = credentialsOf(server.pid)
    const pidFile = join(dataDir, "postgres/postmaster.pid")
    const contents = readFileSync(pidFile, "utf8")
    const exited = once(node, "exit")
    node.stdin?.end()
    await exited

    const stranger = spawn("sleep", ["600"], { uid, gid, cwd: "/" })
    atEnd(t, () => stranger.kill("SIGKILL"))
    const stale = contents.replace(/^\d+/, String(stranger.pid))
    writeFileSync(pidFile, stale)
    writeFileSync(join(dataDir, "run/.s.PGSQL.5432.lock"), stale)

    const again = await start(t, dataDir)
    assert.deepEqual(await keptRow(again.connectionString), [{ value: 7 }])
    assert.ok(isLiving(stranger.pid ?? 0))
  },
)

test("a first start that was killed half way leaves no half cluster, and the next one succeeds", async t => {
  const dataDir = temporaryDir(t)
  const node = spawnStarter(t, { dataDir }, { detached: true })
  const unfinished = () => readdirSync(dataDir).find(name => name.startsWith("postgres.init-"))
  await eventually("the cluster is half made", () =>
    existsSync(join(dataDir, unfinished() ?? "none", "base")),
  )
  // The whole group: Node and initdb.
  const exited = once(node, "exit")
  process.kill(-(node.pid ?? 0), "SIGKILL")
  await exited
  assert.notEqual(unfinished(), undefined)
  assert.ok(!existsSync(join(dataDir, "postgres")))

  const again = await start(t, dataDir)
  assert.deepEqual(await query(again.connectionString, "SELECT 1 AS one"), [{ one: 1 }])
  assert.equal(unfinished(), undefined)
})
