/**
 * What tenant databases cost: how soon they are there, and what lies between a client and its server. `BENCH_PGBOUNCER`
 * names its program, to be measured beside our pooler.
 */
import { execFile, spawn } from "node:child_process"
import {
  chownSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { createSvc, type Svc } from "@svc/sdk"
import { freePort } from "../../packages/server/src/testing/ports.ts"
import type { Figures, Part } from "./figures.ts"
import { load } from "./load.ts"
import { kilobytesOf } from "./memory.ts"
import { apiKeyOf, median, PORT } from "./platform.ts"

const RUNS = 7
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CLIENTS = 16
/** More than a server takes. */
const POOLED_CLIENTS = 100
/** As many as a branch takes. */
const DIRECT_CLIENTS = 75
const POOL_SIZE = 20
const BASE_URL = `http://127.0.0.1:${PORT}`

const timed = async (work: (run: number) => Promise<unknown>): Promise<number> => {
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const from = performance.now()
    await work(run)
    times.push(performance.now() - from)
  }
  return Math.round(median(times))
}

const workingFolder = (pid: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ""
  }
}

/** Memory of the servers in that folder. */
const serverMegabytes = (databasesDir: string): number => {
  const pids = readdirSync("/proc").filter(
    name => /^\d+$/.test(name) && workingFolder(name).startsWith(join(databasesDir, "volumes")),
  )
  const kilobytes = pids.map(pid => kilobytesOf(Number(pid)))
  return Math.round((kilobytes.reduce((sum, value) => sum + value, 0) / 1024) * 10) / 10
}

const lifecycle = async (svc: Svc, databasesDir: string) => {
  const { id } = await svc.databases.create({ name: "bench-first", pg_version: 17 })
  const create_ms = await timed(run => svc.databases.create({ name: `bench-${run}`, pg_version: 17 }))
  for (let run = 0; run < RUNS; run++) {
    const found = (await svc.databases.list({})).data.find(({ name }) => name === `bench-${run}`)
    if (found) await svc.databases.delete({ id: found.id })
  }
  await svc.sql.execute({ sql: "CREATE TABLE t (id int PRIMARY KEY)", database_id: id })
  // Until the connections that served it have gone.
  await delay(12_000)
  const idle_instance_pss_mb = serverMegabytes(databasesDir)

  const wakes: number[] = []
  for (let run = 0; run < RUNS; run++) {
    await svc.databases.suspend({ id })
    const from = performance.now()
    await svc.sql.execute({ sql: "SELECT 1", database_id: id })
    wakes.push(performance.now() - from)
  }
  const cold_branch_ms = await timed(async run => {
    await svc.databases.suspend({ id })
    await svc.databases.createBranch({ id, name: `cold-${run}` })
  })
  const hot_branch_ms = await timed(async run => {
    await svc.sql.execute({ sql: `INSERT INTO t VALUES (${run})`, database_id: id })
    await svc.databases.createBranch({ id, name: `hot-${run}` })
  })
  const target_time = new Date().toISOString()
  await svc.sql.execute({ sql: "DELETE FROM t", database_id: id })
  const restore_ms = await timed(run =>
    svc.databases.pitr({ id, target_time, name: `restored-${run}`, mode: "new" }),
  )
  return {
    create_ms,
    wake_to_first_row_ms: Math.round(median(wakes)),
    cold_branch_with_suspend_ms: cold_branch_ms,
    hot_branch_ms,
    restore_to_time_ms: restore_ms,
    idle_instance_pss_mb,
  }
}

/** Copies of a database of 1 GB at a time, beside it and in place. */
const copiesOfLarge = async (svc: Svc) => {
  const { id } = await svc.databases.create({ name: "large", pg_version: 17 })
  const run = (sql: string) => svc.sql.execute({ sql, database_id: id, timeout_ms: 300_000 })
  for (let part = 0; part < 4; part++) {
    const rows = "SELECT n, repeat(md5(n::text), 30) AS text FROM generate_series(1, 250000) n"
    await run(part === 0 ? `CREATE TABLE large AS ${rows}` : `INSERT INTO large ${rows}`)
  }
  // At rest it gets an image, from which its later states are made.
  await svc.databases.suspend({ id })
  await run("CREATE TABLE t (n integer)")
  const parent_timestamp = new Date().toISOString()
  await run("INSERT INTO t VALUES (1)")
  const from = performance.now()
  await svc.databases.createBranch({ id, name: "earlier", parent_timestamp })
  const branched = performance.now()
  await svc.databases.pitr({ id, target_time: parent_timestamp, mode: "in_place" })
  const restored = performance.now()
  return {
    branch_at_time_of_1gb_ms: Math.round(branched - from),
    restore_in_place_of_1gb_ms: Math.round(restored - branched),
  }
}

const pgbench = async (args: readonly string[], password: string): Promise<string> => {
  const { stdout } = await promisify(execFile)("pgbench", args, {
    env: { PATH: process.env.PATH, PGPASSWORD: password },
  })
  return stdout
}

const selects = async (
  target: readonly string[],
  password: string,
  { clients = CLIENTS, mode = "prepared" }: { clients?: number; mode?: "prepared" | "simple" } = {},
): Promise<number> => {
  const output = await pgbench(
    ["-S", "-n", "-M", mode, `-c${clients}`, "-j2", `-T${SECONDS}`, ...target],
    password,
  )
  return Number(/tps = ([\d.]+)/.exec(output)?.[1] ?? 0)
}

/** Starts PgBouncer on a server's socket, as the user whose it is: nobody else may connect there. */
const startPgBouncer = async (program: string, socketDir: string, password: string) => {
  const { uid, gid } = statSync(socketDir)
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-pgbouncer-"))
  const port = await freePort()
  const settings = [
    ...["[databases]", `app = host=${socketDir} port=5432 dbname=app`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir ="],
    ...["auth_type = plain", `auth_file = ${join(folder, "users")}`, "pool_mode = transaction"],
    ...["max_client_conn = 200", `default_pool_size = ${POOL_SIZE}`, "logfile ="],
  ]
  writeFileSync(join(folder, "pgbouncer.ini"), settings.join("\n"))
  writeFileSync(join(folder, "users"), `"owner" "${password}"\n`)
  for (const path of [folder, join(folder, "pgbouncer.ini"), join(folder, "users")]) chownSync(path, uid, gid)
  const child = spawn(program, ["-q", join(folder, "pgbouncer.ini")], { uid, gid, stdio: "ignore", cwd: "/" })
  await delay(1_000)
  return {
    port,
    [Symbol.dispose]() {
      child.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The pooler with more clients than a server takes, beside as many as it takes without one, and PgBouncer. */
const pooling = async (wire: readonly string[], socketDir: string, password: string): Promise<Figures> => {
  const pooled = wire.map(word => (word.startsWith("owner.") ? `${word}-pooler` : word))
  const many = { clients: POOLED_CLIENTS } as const
  const direct = ["-h", socketDir, "-U", "owner", "app"]
  const rounds = {
    pgbench_75_direct_per_s: await selects(direct, password, { clients: DIRECT_CLIENTS, mode: "simple" }),
    pgbench_75_proxied_per_s: await selects(wire, password, { clients: DIRECT_CLIENTS, mode: "simple" }),
    pgbench_100_pooled_per_s: await selects(pooled, password, { ...many, mode: "simple" }),
    pgbench_100_pooled_prepared_per_s: await selects(pooled, password, many),
  }
  const program = process.env.BENCH_PGBOUNCER
  if (program === undefined) return rounds
  using bouncer = await startPgBouncer(program, socketDir, password)
  const peer = ["-h", "127.0.0.1", "-p", String(bouncer.port), "-U", "owner", "app"]
  const pgbouncer = await selects(peer, password, { ...many, mode: "simple" })
  return {
    ...rounds,
    pgbench_100_pgbouncer_per_s: pgbouncer,
    pooled_of_pgbouncer: Number((rounds.pgbench_100_pooled_per_s / pgbouncer).toFixed(3)),
  }
}

/** The folder of the one socket that there is. */
const onlySocket = (databasesDir: string): string => {
  const folders = readdirSync(join(databasesDir, "run")).map(slot => join(databasesDir, "run", slot))
  const open = folders.filter(folder => readdirSync(folder).includes(".s.PGSQL.5432"))
  if (open.length !== 1 || !open[0]) throw new Error(`${open.length} databases are awake`)
  return open[0]
}

/** The same instance by three ways in one run: its own socket, the wire proxy, HTTP. */
const throughput = async (svc: Svc, databasesDir: string, apiKey: string) => {
  const made = await svc.databases.create({ name: "pgbench", pg_version: 17, suspend_timeout_seconds: 0 })
  const { id, password = "", connection } = made
  const wire = ["-h", "127.0.0.1", "-p", String(connection.port), "-U", connection.user, "app"]
  await pgbench(["-i", "-q", "-s", "2", ...wire], password)
  const direct = await selects(["-h", onlySocket(databasesDir), "-U", "owner", "app"], password)
  const proxied = await selects(wire, password)
  const body = { sql: "SELECT abalance FROM pgbench_accounts WHERE aid = $1", params: [1], database_id: id }
  const headers = { authorization: `Bearer ${apiKey}` }
  const http = await load({ url: `${BASE_URL}/api/v1/sql`, headers, body }, CLIENTS, SECONDS)
  return {
    ...(await pooling(wire, onlySocket(databasesDir), password)),
    pgbench_select_direct_per_s: Math.round(direct),
    pgbench_select_proxied_per_s: Math.round(proxied),
    proxied_of_direct: Number((proxied / direct).toFixed(3)),
    http_select_per_s: Math.round(http.requestsPerSecond),
    http_of_direct: Number((http.requestsPerSecond / direct).toFixed(3)),
    http_select_p99_ms: http.p99Ms,
  }
}

export const databaseFigures: Part = async (tell, dataDir) => {
  const apiKey = apiKeyOf(dataDir)
  const svc = createSvc({ apiKey, baseUrl: BASE_URL })
  const databasesDir = realpathSync(join(dataDir, "databases"))
  tell(await lifecycle(svc, databasesDir))
  tell(await copiesOfLarge(svc))
  for (const { id } of (await svc.databases.list({ limit: 200 })).data) {
    for (const branch of (await svc.databases.listBranches({ id, limit: 200 })).data) {
      await svc.databases.suspend({ id, branch_id: branch.id })
    }
  }
  tell(await throughput(svc, databasesDir, apiKey))
}
