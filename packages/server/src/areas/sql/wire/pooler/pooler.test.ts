import assert from "node:assert/strict"
import { after, before, describe, type TestContext, test } from "node:test"
import pg from "pg"
import postgres from "postgres"
import type { WireLimits } from "../messages.ts"
import { GUEST, PASSWORD, startCluster, type TestCluster } from "../testing/cluster.ts"
import { startWire, until, verifierIn } from "../testing/platform.ts"
import { loginByPassword, message, query } from "../testing/raw-client.ts"

const UNKNOWN = "0198c0de-0000-7000-8000-00000000dead"
const LIMITS: WireLimits = {
  connectionsMax: 1_000,
  startupsPerAddressMax: 256,
  startupTimeoutMs: 15_000,
  openTimeoutMs: 60_000,
  pooledClientsMax: 150,
  poolSizeMax: 3,
  pooledServersMax: 4,
  poolWaitTimeoutMs: 60_000,
  poolIdleTimeoutMs: 60_000,
}

const bound = { ssl: { rejectUnauthorized: false }, enableChannelBinding: true }

describe("clients of the pooler", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
    await cluster.ask("CREATE ROLE other LOGIN PASSWORD 'other-password'")
    await cluster.ask("GRANT ALL ON SCHEMA public TO owner, other")
  })
  after(() => cluster[Symbol.asyncDispose]())

  const serve = async (t: TestContext, limits: Partial<WireLimits> = {}) => {
    const needs = { verifier: verifierIn([cluster]), limits: { ...LIMITS, ...limits } }
    const started = await startWire(t, [cluster], needs)
    const as = (user: string) => ({ user: `${user}.${cluster.branchId}-pooler` })
    return {
      ...started,
      uri: started.url(cluster.branchId).replace(cluster.branchId, `${cluster.branchId}-pooler`),
      as: (user: string, config: pg.ClientConfig = {}) =>
        started.connect(cluster.branchId, { ...as(user), ...config }),
      pooled: (config: pg.ClientConfig = {}) =>
        started.connect(cluster.branchId, { ...as("owner"), ...config }),
    }
  }

  const sessions = async (user = "owner") =>
    (await cluster.ask(`select pid from pg_stat_activity where usename = '${user}'`)).map(({ pid }) => pid)

  test("are a hundred at once on three connections, and nobody is refused", async t => {
    const { pooled } = await serve(t)
    const clients = await Promise.all(Array.from({ length: 100 }, () => pooled()))
    const sums = await Promise.all(
      clients.map(async (client, at) => {
        await client.query("begin")
        const { rows } = await client.query("select $1::int + 1 as n, session_user as me", [at])
        await client.query("commit")
        return rows[0]
      }),
    )
    assert.deepEqual(
      sums,
      sums.map((_, at) => ({ n: at + 1, me: "owner" })),
    )
    assert.ok((await sessions()).length <= 3)
  })

  test("get in with the role's password only, which may be bound to the connection, and as that role", async t => {
    const { as, pooled, connect } = await serve(t)
    const me = async (client: pg.Client) => (await client.query("select session_user as me")).rows[0]?.me
    assert.equal(await me(await pooled(bound)), "owner")
    assert.equal(await me(await as("other", { password: "other-password" })), "other")
    const refused = { code: "28P01", severity: "FATAL" }
    for (const more of [{}, bound]) {
      const wrong = { ...more, password: "wrong" }
      await assert.rejects(pooled(wrong), refused)
      await assert.rejects(as("nobody", wrong), refused)
      await assert.rejects(connect(UNKNOWN, { ...wrong, user: `owner.${UNKNOWN}-pooler` }), refused)
    }
    await assert.rejects(as(GUEST), refused)
  })

  test("need the password that the role has now, and those who are in stay", async t => {
    const { pooled } = await serve(t)
    const early = await pooled()
    await early.query("select 1")
    await cluster.ask("ALTER ROLE owner PASSWORD 'another'")
    t.after(() => cluster.ask(`ALTER ROLE owner PASSWORD '${PASSWORD}'`))
    await assert.rejects(pooled(), { code: "28P01" })
    const late = await pooled({ password: "another" })
    await Promise.all([late.query("begin"), early.query("begin")])
  })

  test("hear from the server what is wrong with a database or a parameter", async t => {
    const { pooled, uri } = await serve(t)
    await assert.rejects(pooled({ database: "nowhere" }), { code: "3D000" })
    await assert.rejects(pooled({ options: "-c nonsense=1" }), { code: "42704" })
    const sql = postgres(uri, { max: 1, connection: { TimeZone: "Nowhere/Here" } })
    t.after(() => sql.end())
    await assert.rejects(async () => await sql`select 1`, { code: "22023" })
  })

  test("use prepared statements by their names on whatever connection they are lent", async t => {
    const { pooled, uri } = await serve(t, { poolSizeMax: 2 })
    const [one, other] = [await pooled(), await pooled()]
    const double = (client: pg.Client, n: number) =>
      client.query({ name: "double", text: "select $1::int * 2 as n, pg_backend_pid() as pid", values: [n] })
    const triple = (client: pg.Client, n: number) =>
      client.query({ name: "double", text: "select $1::int * 3 as n", values: [n] })
    const pids = new Set<number>()
    for (let n = 0; n < 20; n++) {
      await other.query("begin")
      const { rows } = await double(one, n)
      assert.equal(rows[0].n, n * 2)
      pids.add(rows[0].pid)
      assert.equal((await triple(other, n)).rows[0].n, n * 3)
      if (n % 2 === 0) await one.query("begin")
      await other.query("commit")
      if (n % 2 === 0) await one.query("commit")
    }
    assert.equal(pids.size, 2)
    const sql = postgres(uri, { max: 10 })
    t.after(() => sql.end())
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => sql`select ${n}::int + 1 as n`))
    assert.deepEqual(
      answers.map(([row]) => row?.n),
      answers.map((_, n) => n + 1),
    )
  })

  test("may drop all their prepared statements, and others keep theirs", async t => {
    const { pooled } = await serve(t, { poolSizeMax: 1 })
    const [one, other] = [await pooled(), await pooled()]
    const statement = { name: "s", text: "select 7 as n" }
    await one.query(statement)
    await other.query(statement)
    await one.query("discard all")
    assert.equal((await other.query(statement)).rows[0].n, 7)
    await assert.rejects(one.query(statement), { code: "26000" })
    assert.equal((await one.query({ name: "t", text: "select 7 as n" })).rows[0].n, 7)
  })

  test("have parameters of their own, as they set them last", async t => {
    const { pooled } = await serve(t, { poolSizeMax: 1 })
    const paris = await pooled({ application_name: "it's \\ paris" })
    const tokyo = await pooled({ application_name: "tokyo" })
    const shown = async (client: pg.Client) => {
      const text =
        "select current_setting('application_name') as name, current_setting('TimeZone') as zone, current_setting('client_encoding') as encoding, current_setting('DateStyle') as style"
      return (await client.query(text)).rows[0]
    }
    await paris.query("set time zone 'europe/paris'")
    await tokyo.query("set time zone 'Asia/Tokyo'; set datestyle = german; set client_encoding = latin1")
    const inParis = { name: "it's \\ paris", zone: "Europe/Paris", encoding: "UTF8", style: "ISO, MDY" }
    const inTokyo = { name: "tokyo", zone: "Asia/Tokyo", encoding: "LATIN1", style: "German, DMY" }
    for (let turn = 0; turn < 3; turn++) {
      assert.deepEqual(await shown(paris), inParis)
      assert.deepEqual(await shown(tokyo), inTokyo)
    }
    await paris.query("begin")
    await paris.query("set time zone 'UTC'")
    await paris.query("rollback")
    assert.deepEqual(await shown(paris), inParis)
    assert.equal((await sessions()).length, 1)
  })

  test("with other startup options have other connections, and all together no more than the branch may", async t => {
    const { pooled } = await serve(t)
    const limits = ["1s", "2s", "3s", "4s", "5s", "6s"]
    const shown = await Promise.all(
      limits.map(async limit => {
        const client = await pooled({ options: `-c statement_timeout=${limit}` })
        const values: unknown[] = []
        for (let turn = 0; turn < 3; turn++)
          values.push((await client.query("show statement_timeout")).rows[0].statement_timeout)
        return values
      }),
    )
    assert.deepEqual(
      shown,
      limits.map(limit => [limit, limit, limit]),
    )
    assert.ok((await sessions()).length <= 4)
  })

  test("cancel what they run, and nobody else's", async t => {
    const { pooled, uri } = await serve(t)
    const [one, other] = [await pooled(), await pooled()]
    const slow = assert.rejects(one.query("select pg_sleep(60)"), { code: "57014" })
    const beside = other.query("select pg_sleep(1), 1 as n")
    await until("both run", async () => {
      const rows = await cluster.ask(
        "select 1 from pg_stat_activity where query like '%pg_sleep%' and usename = 'owner'",
      )
      return rows.length === 2
    })
    const canceller = new pg.Client(uri)
    ;(canceller as unknown as { cancel(client: pg.Client, query: unknown): void }).cancel(
      one,
      (one as unknown as { activeQuery: unknown }).activeQuery,
    )
    await slow
    assert.equal((await beside).rows[0].n, 1)
    assert.equal((await one.query("select 2 as n")).rows[0].n, 2)
  })

  test("who go away in a transaction leave nothing of it, and their connection to nobody", async t => {
    const { pooled } = await serve(t, { poolSizeMax: 1 })
    const [leaving, staying] = [await pooled(), await pooled()]
    await leaving.query("create table if not exists kept (n int)")
    await leaving.query("begin")
    await leaving.query("insert into kept values (1)")
    const [before] = await sessions()
    const waiting = staying.query("select count(*)::int as n, pg_backend_pid() as pid from kept")
    ;(leaving as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    const { n, pid } = (await waiting).rows[0]
    assert.equal(n, 0)
    assert.notEqual(pid, before)
  })

  test("who say goodbye with a statement under way have it run to its end", async t => {
    const { pooled, wire } = await serve(t, { poolSizeMax: 1 })
    const next = await pooled()
    await next.query("create table last_words (n int)")
    const user = `owner.${cluster.branchId}-pooler`
    const client = await loginByPassword(t, { port: wire.port, user, password: PASSWORD })
    client.socket.write(query("insert into last_words select 1 from pg_sleep(0.2)"))
    client.socket.write(message("X"))
    assert.equal(await client.next(), undefined)
    assert.equal((await next.query("select count(*)::int as n from last_words")).rows[0].n, 1)
  })

  test("wait for a connection as long as they may, and are told why they get none", async t => {
    const { pooled } = await serve(t, { poolSizeMax: 1, poolWaitTimeoutMs: 500 })
    const [holding, waiting] = [await pooled(), await pooled()]
    await holding.query("begin")
    await assert.rejects(waiting.query("select 1"), {
      code: "53300",
      message: /no server connection became free/,
    })
    await holding.query("commit")
    assert.equal((await holding.query("select 1 as n")).rows[0].n, 1)
  })

  test("are as many as a branch may have", async t => {
    const { pooled } = await serve(t, { pooledClientsMax: 2 })
    const first = await pooled()
    await pooled()
    await assert.rejects(pooled(), { code: "53300", message: /too many pooled clients/ })
    await first.end()
    await until("there is room again", () =>
      pooled().then(
        () => true,
        () => false,
      ),
    )
  })

  test("do not notice when their connections are closed between transactions", async t => {
    const { pooled, wire, activity } = await serve(t, { poolIdleTimeoutMs: 200 })
    const client = await pooled()
    await client.query("select 1")
    await until("idle connections are closed", async () => (await sessions()).length === 0)
    assert.equal((await client.query("select 2 as n")).rows[0].n, 2)
    wire.disconnect(cluster.branchId)
    await until("all are closed", async () => (await sessions()).length === 0)
    assert.equal((await client.query("select 3 as n")).rows[0].n, 3)
    await until(
      "it is told that nothing runs",
      () => activity.at(-1)?.kind === "idle" || activity.at(-1)?.kind === "closed",
    )
  })

  test("whose server ends in a transaction hear of it, and are cut off", async t => {
    const { pooled } = await serve(t)
    const client = await pooled()
    await client.query("begin")
    const ended = new Promise(resolve => client.once("end", () => resolve(undefined)))
    const [pid] = await sessions()
    await cluster.ask(`select pg_terminate_backend(${pid})`)
    await assert.rejects(client.query("select 1"))
    await ended
  })

  test("are in the query log one by one", async t => {
    const { pooled, calls } = await serve(t)
    const client = await pooled({ application_name: "logged" })
    await client.query("select 42 as logged_n")
    await until("the call is told", () => calls.some(({ sql }) => sql === "select 42 as logged_n"))
    const found = calls.find(({ sql }) => sql === "select 42 as logged_n")
    assert.deepEqual([found?.user, found?.applicationName, found?.rows], ["owner", "logged", 1])
  })
})

test("there is no pooler where what servers keep of passwords is not to be read", async t => {
  const { connect } = await startWire(t, [])
  await assert.rejects(connect(UNKNOWN, { user: `owner.${UNKNOWN}-pooler` }), { code: "0A000" })
})
