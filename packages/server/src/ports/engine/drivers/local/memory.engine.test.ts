import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { type TestContext, test } from "node:test"
import pg from "pg"
import {
  DATABASE_NAME,
  type Endpoint,
  type EnginePort,
  OWNER_ROLE,
  type PgVersion,
  pgVersions,
  type VolumeRef,
} from "../../port.ts"
import { openTestEngine } from "./testing/engine.ts"

const linuxOnly = { skip: process.platform === "linux" ? false : "needs resource limits of Linux" }
const credentials = { owner: "owner-password", reader: "reader-password" }
/** Of which half is a session's. */
const MEMORY_MB = 256
const OUT_OF_MEMORY = "53200"

const make = async (engine: EnginePort, pgVersion: PgVersion): Promise<[VolumeRef, Endpoint]> => {
  const volume: VolumeRef = { id: randomUUID(), pgVersion, tier: "isolated" }
  await engine.create(volume, credentials)
  return [volume, await engine.wake(volume)]
}

const login = async (t: TestContext, { host, port }: Endpoint): Promise<pg.Client> => {
  const client = new pg.Client({
    ...{ host, port, user: OWNER_ROLE, password: credentials.owner, database: DATABASE_NAME, ssl: false },
  })
  client.on("error", () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}

const ROWS = "SELECT n, md5(n::text) AS text FROM generate_series(1, 6000000) n"

/** Each takes gigabytes where nothing but the tenant's own settings says how much. */
const attacks: Readonly<Record<string, readonly string[]>> = {
  "a sort with a large work_mem": [
    "SET work_mem = '5GB'",
    `SELECT count(*) FROM (SELECT * FROM (${ROWS}) r ORDER BY text OFFSET 0) s`,
  ],
  "a hash with a large hash_mem_multiplier": [
    "SET work_mem = '64MB'",
    "SET hash_mem_multiplier = 1000",
    `SELECT count(*) FROM (SELECT text, count(*) FROM (${ROWS}) r GROUP BY text OFFSET 0) s`,
  ],
  "an aggregate, which no setting bounds": [`SELECT length(array_agg(text)::text) FROM (${ROWS}) r`],
  "a temporary table with large temp_buffers": ["SET temp_buffers = '5GB'", `CREATE TEMP TABLE t AS ${ROWS}`],
  "settings that a tenant keeps for a role": [
    `ALTER ROLE ${OWNER_ROLE} SET work_mem = '5GB'`,
    `SELECT set_config('work_mem', '5GB', false)`,
    `SELECT count(*) FROM (SELECT * FROM (${ROWS}) r ORDER BY text OFFSET 0) s`,
  ],
}

const limitsOf = (pid: number) => {
  const text = readFileSync(`/proc/${pid}/limits`, "utf8")
  return Number(/^Max data size\s+(\d+)/m.exec(text)?.[1])
}

for (const version of pgVersions)
  test(
    `no session of PostgreSQL ${version} takes more memory than it is given, and the server survives`,
    linuxOnly,
    async t => {
      const { engine } = await openTestEngine(t, undefined, { memoryMb: MEMORY_MB })
      const [, endpoint] = await make(engine, version)
      const bystander = await login(t, endpoint)
      const { rows } = await bystander.query("SELECT pg_backend_pid() AS pid")
      assert.equal(limitsOf(rows[0].pid), (MEMORY_MB / 2) * 2 ** 20)
      for (const [name, statements] of Object.entries(attacks)) {
        const attacker = await login(t, endpoint)
        const refusal = async () => {
          for (const statement of statements) await attacker.query(statement)
        }
        await assert.rejects(refusal(), { code: OUT_OF_MEMORY }, name)
        assert.deepEqual((await attacker.query("SELECT 1 AS one")).rows, [{ one: 1 }], `${name}: its session`)
        await attacker.query(`ALTER ROLE ${OWNER_ROLE} RESET ALL`)
        await attacker.end()
      }
      const maintained = await login(t, endpoint)
      await maintained.query(`CREATE TABLE kept AS ${ROWS} LIMIT 100000`)
      await maintained.query("SET maintenance_work_mem = '5GB'")
      await maintained.query("CREATE INDEX ON kept (text)")
      assert.deepEqual((await bystander.query("SELECT count(*)::int AS n FROM kept")).rows, [{ n: 100_000 }])
    },
  )

test(
  "all processes of a server are in a control group with its memory, which goes with it",
  linuxOnly,
  async t => {
    const { engine, lines } = await openTestEngine(t, undefined, { memoryMb: MEMORY_MB })
    const [volume, endpoint] = await make(engine, 18)
    const client = await login(t, endpoint)
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid")
    const groups = readFileSync(`/proc/${rows[0].pid}/cgroup`, "utf8")
    const refusal = lines.find(line => line.includes("control group"))
    if (refusal !== undefined) return t.skip(refusal)
    const [, path = ""] = /^\d+:(?:memory)?:(.*)$/m.exec(groups) ?? []
    assert.match(path, new RegExp(`${volume.id}$`))
    const [directory, file] = existsSync("/sys/fs/cgroup/cgroup.controllers")
      ? [`/sys/fs/cgroup${path}`, "memory.max"]
      : [`/sys/fs/cgroup/memory${path}`, "memory.limit_in_bytes"]
    assert.equal(Number(readFileSync(`${directory}/${file}`, "utf8")), MEMORY_MB * 2 ** 20)
    await client.end()
    await engine.suspend(volume)
    assert.ok(!existsSync(directory))
  },
)
