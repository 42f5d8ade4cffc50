import assert from "node:assert/strict"
import { type ExecFileException, execFile, execFileSync } from "node:child_process"
import { connect } from "node:net"
import { after, before, describe, test } from "node:test"
import { pgVersions } from "../../../ports/engine/port.ts"
import { encodeCancel } from "./startup-packet.ts"
import { PASSWORD, startCluster, type TestCluster } from "./testing/cluster.ts"
import { startWire, until } from "./testing/platform.ts"

const has = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const skipPsql = has("psql") ? false : "psql is not installed"
const skipPgbench = has("pgbench") ? false : "pgbench is not installed"

const run = (
  program: string,
  parameters: readonly string[],
  env: Record<string, string> = {},
): Promise<{ error: ExecFileException | null; stdout: string; stderr: string }> =>
  new Promise(resolve => {
    const environment = { PATH: process.env.PATH, PGPASSWORD: PASSWORD, ...env }
    execFile(program, parameters, { env: environment, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ error, stdout, stderr }),
    )
  })

const noCheck = { rejectUnauthorized: false }

for (const version of pgVersions) {
  describe(`PostgreSQL ${version} behind the wire`, () => {
    let cluster: TestCluster
    before(async () => {
      cluster = await startCluster(version)
    })
    after(() => cluster[Symbol.asyncDispose]())

    test("psql is served, encrypted or not", { skip: skipPsql }, async t => {
      const { url } = await startWire(t, [cluster])
      for (const [mode, encrypted] of [
        ["disable", "f"],
        ["require", "f"],
      ] as const) {
        const sql =
          "select current_user, current_database(), ssl from pg_stat_ssl where pid = pg_backend_pid()"
        const { stdout, stderr } = await run("psql", ["-XAt", url(cluster.branchId), "-c", sql], {
          PGSSLMODE: mode,
        })
        assert.equal(stdout, `owner|app|${encrypted}\n`, stderr)
      }
    })

    test("psql sees the server's own words for a wrong password", { skip: skipPsql }, async t => {
      const { url } = await startWire(t, [cluster])
      const wrong = url(cluster.branchId).replace(PASSWORD, "wrong")
      const { error, stderr } = await run("psql", ["-X", wrong, "-c", "select 1"])
      assert.equal(error?.code, 2)
      assert.match(stderr, /FATAL: {2}password authentication failed for user "owner"/)
    })

    test("libpq's prepared statements are served", { skip: skipPgbench }, async t => {
      const { wire } = await startWire(t, [cluster])
      const parameters = ["-h", "127.0.0.1", "-p", `${wire.port}`, "-U", `owner.${cluster.branchId}`, "app"]
      const initialized = await run("pgbench", ["-i", "-q", ...parameters])
      assert.equal(initialized.error, null, initialized.stderr)
      for (const mode of ["extended", "prepared"]) {
        const { stdout, stderr } = await run("pgbench", ["-M", mode, "-c", "4", "-t", "50", ...parameters])
        assert.match(stdout, /number of transactions actually processed: 200\/200/, stderr)
      }
    })

    test("a driver is served with TLS, asked for or begun with, and without", async t => {
      const { connect: open, wire } = await startWire(t, [cluster])
      const clients = await Promise.all([
        open(cluster.branchId),
        open(cluster.branchId, { ssl: noCheck }),
        open(cluster.branchId, { ssl: noCheck, sslnegotiation: "direct" }),
      ])
      for (const client of clients) {
        assert.deepEqual((await client.query("select 1 as one")).rows, [{ one: 1 }])
        assert.deepEqual((await client.query("select $1::text as a", ["ü"])).rows, [{ a: "ü" }])
        await assert.rejects(client.query("select * from nowhere"), { code: "42P01" })
      }
      await Promise.all(clients.map(client => client.end()))
      await until("all are gone", () => wire.connections === 0)
    })

    test("the host name alone leads to the branch, and so do the options", async t => {
      const { connect: open } = await startWire(t, [cluster])
      const servername = `${cluster.branchId}.db.example.com`
      const user = "owner"
      const bySni = await open(cluster.branchId, { user, ssl: { ...noCheck, servername } })
      const byOptions = await open(cluster.branchId, {
        user,
        options: `endpoint=${cluster.branchId} -c statement_timeout=12345`,
      })
      assert.deepEqual((await bySni.query("select current_user as u")).rows, [{ u: "owner" }])
      assert.deepEqual((await byOptions.query("show statement_timeout")).rows, [
        { statement_timeout: "12345ms" },
      ])
    })

    test("a cancel request reaches exactly the session whose whole key it has", async t => {
      const { connect: open, wire } = await startWire(t, [cluster])
      const clients = await Promise.all([open(cluster.branchId), open(cluster.branchId)])
      const holder = await open(cluster.branchId)
      await holder.query("select pg_advisory_lock(1)")
      const [first, second] = clients.map(client => {
        const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
        const key = Buffer.alloc(8)
        key.writeInt32BE(processID)
        key.writeInt32BE(secretKey, 4)
        return { client, key }
      })
      assert.ok(first && second)
      const sleeping = first.client.query("select pg_sleep(60)")
      const outcome = assert.rejects(sleeping, { code: "57014" })
      const lasting = second.client.query("select pg_advisory_lock(1), 'waited' as did")
      const asleep = "select 1 from pg_stat_activity where wait_event in ('PgSleep', 'advisory')"
      await until("both wait", async () => (await cluster.ask(asleep)).length === 2)

      const wrong = Buffer.from(first.key)
      wrong.writeInt32BE(second.key.readInt32BE(4), 4)
      for (const key of [wrong, first.key]) {
        const socket = connect({ host: "127.0.0.1", port: wire.port })
        socket.resume().end(encodeCancel(key.toString("latin1")))
        await new Promise(resolve => socket.once("close", resolve))
        if (key === wrong) assert.equal((await cluster.ask(asleep)).length, 2)
      }
      await outcome
      await holder.query("select pg_advisory_unlock(1)")
      assert.equal((await lasting).rows[0]?.did, "waited")
      assert.equal((await first.client.query("select 1 as one")).rows[0]?.one, 1)
    })

    test("notifications arrive, and the session that waits for them says so", async t => {
      const { connect: open, activity } = await startWire(t, [cluster])
      const [listener, speaker] = await Promise.all([open(cluster.branchId), open(cluster.branchId)])
      const heard = new Promise<string | undefined>(resolve => {
        listener.once("notification", ({ payload }) => resolve(payload))
      })
      await listener.query('LISTEN "News"')
      await until("it listens", () => activity.some(({ kind }) => kind === "listening"))
      await speaker.query(`NOTIFY "News", 'hello'`)
      assert.equal(await heard, "hello")
    })

    test("each client has a session of its own from beginning to end", async t => {
      const { connect: open } = await startWire(t, [cluster])
      const clients = await Promise.all([open(cluster.branchId), open(cluster.branchId)])
      const pids = await Promise.all(
        clients.map(async (client, index) => {
          await client.query(`set application_name = 'client ${index}'`)
          await client.query("begin")
          const { rows } = await client.query("select pg_backend_pid() as pid")
          await client.query("commit")
          const after = await client.query(
            "select pg_backend_pid() as pid, current_setting('application_name') as name",
          )
          assert.deepEqual(after.rows, [{ pid: rows[0]?.pid, name: `client ${index}` }])
          return rows[0]?.pid
        }),
      )
      assert.notEqual(pids[0], pids[1])
    })

    test("statements are told with what became of them", async t => {
      const { connect: open, calls } = await startWire(t, [cluster])
      const client = await open(cluster.branchId, { application_name: "shop" })
      await client.query("select generate_series(1, 3)")
      await client.query("select $1::int / 0", [1]).catch(() => undefined)
      await until("both are told", () => calls.length === 2)
      assert.deepEqual(
        calls.map(({ sql, rows, command, sqlstate, error }) => [sql, command, rows, sqlstate, error]),
        [
          ["select generate_series(1, 3)", "SELECT", 3, null, null],
          ["select $1::int / 0", "", null, "22012", "division by zero"],
        ],
      )
      const [call] = calls
      assert.equal(call?.branchId, cluster.branchId)
      assert.equal(call?.user, "owner")
      assert.equal(call?.applicationName, "shop")
      assert.equal(call?.clientAddress, "127.0.0.1")
    })
  })
}
