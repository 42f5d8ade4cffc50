/** Neon's serverless driver with nothing but the connection string: over HTTP, and over a WebSocket. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { Client, neon, neonConfig, Pool } from "@neondatabase/serverless"
import { WebSocket } from "ws"
import { platform } from "../../../testing/platform.ts"
import { noteReply, watchedFetch } from "../../../testing/watch.ts"

/** The driver makes its own; the ledger of statuses is told of it. */
class NotedSocket extends WebSocket {
  constructor(address: string) {
    super(address)
    this.once("upgrade", () => noteReply("GET", address.replace(/^ws/, "http"), 101, null))
  }
}

const start = async (t: TestContext, env: Record<string, string> = {}) => {
  const p = await platform(t, { env })
  const svc = await p.client("acme", "database:manage", "database:query")
  const { connection_uri: uri = "", id } = await svc.databases.create({ name: "shop" })
  const { host } = new URL(p.url)
  // What a deployment behind TLS on the usual port needs not to set.
  neonConfig.fetchEndpoint = () => `${p.url}/sql`
  neonConfig.fetchFunction = watchedFetch
  neonConfig.wsProxy = () => `${host}/v2`
  neonConfig.useSecureWebSocket = false
  neonConfig.webSocketConstructor = NotedSocket
  neonConfig.poolQueryViaFetch = false
  return { p, svc, uri, id }
}

const changed = (uri: string, change: (url: URL) => void): string => {
  const url = new URL(uri)
  change(url)
  return url.href
}

test("neon() works with the printed connection string alone", async t => {
  const { p, svc, uri, id } = await start(t)
  const sql = neon(uri)
  assert.deepEqual(await sql`SELECT ${41}::int + 1 AS n`, [{ n: 42 }])
  await sql`CREATE TABLE t (id int PRIMARY KEY)`
  const [first, second] = await sql.transaction([sql`INSERT INTO t VALUES (1)`, sql`SELECT * FROM t`], {
    isolationLevel: "Serializable",
  })
  assert.deepEqual([first, second], [[], [{ id: 1 }]])
  await assert.rejects(sql.transaction([sql`INSERT INTO t VALUES (2)`, sql`INSERT INTO t VALUES (1)`]), {
    code: "23505",
  })
  assert.deepEqual(await sql`SELECT * FROM t`, [{ id: 1 }])
  await assert.rejects(sql.query("SELECT $1", []), /bind message supplies 0 parameters/)

  for (const wrong of [
    changed(uri, url => (url.password = "wrong")),
    changed(uri, url => (url.username = `nobody.${url.username.split(".")[1]}`)),
    changed(uri, url => (url.username = "owner.0198c0de-0000-7000-8000-00000000000a")),
  ])
    await assert.rejects(neon(wrong)`SELECT 1`, /password authentication failed/)

  await sql`CREATE ROLE clerk LOGIN PASSWORD 'of-a-clerk'`
  const clerk = neon(
    changed(uri, url => {
      url.username = url.username.replace("owner", "clerk")
      url.password = "of-a-clerk"
    }),
  )
  assert.deepEqual(await clerk`SELECT current_user::text AS name`, [{ name: "clerk" }])
  await assert.rejects(clerk`SELECT * FROM t`, { code: "42501" })
  const { organizationId: tenant_id } = await p.tenant("acme")
  const logged = await svc.sql.listQueryLogs({ tenant_id, database_id: id })
  assert.ok(logged.some(({ user, source }) => user === "clerk" && source === "http"))
})

test("neon() with a key as its token, whose request is text/plain, is answered at the API's own address", async t => {
  const { p, uri } = await start(t)
  neonConfig.fetchEndpoint = () => `${p.url}/api/v1/sql`
  // The answer has the driver's form, which the declaration of that operation does not have.
  neonConfig.fetchFunction = undefined
  const { secret } = await p.key("acme", ["database:query"])
  assert.deepEqual(await neon(uri, { authToken: secret })`SELECT 1 AS one`, [{ one: 1 }])
  const other = await p.request("/v1/kv/set", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "text/plain" },
    body: "{}",
  })
  assert.notEqual(other.status, 200)
})

test("Pool and Client work over a WebSocket, pipelined or not, and a wrong password is told", async t => {
  const { uri } = await start(t)
  const pool = new Pool({ connectionString: uri })
  assert.deepEqual((await pool.query("SELECT $1::int + 1 AS n", [41])).rows, [{ n: 42 }])
  const client = await pool.connect()
  await client.query("BEGIN")
  await client.query("CREATE TABLE t (text text)")
  const long = "x".repeat(3 * 1024 * 1024)
  await client.query("INSERT INTO t VALUES ($1)", [long])
  await client.query("COMMIT")
  assert.equal((await client.query("SELECT * FROM t")).rows[0]?.text.length, long.length)
  client.release()
  await pool.end()

  neonConfig.pipelineConnect = false
  t.after(() => {
    neonConfig.pipelineConnect = "password"
  })
  const single = new Client(uri)
  await single.connect()
  assert.deepEqual((await single.query("SELECT 1 AS one")).rows, [{ one: 1 }])
  await assert.rejects(single.query("SELECT nothing"), { code: "42703" })
  await single.end()
  const stranger = new Client(changed(uri, url => (url.password = "wrong")))
  await assert.rejects(stranger.connect(), { code: "28P01" })
})

test("where TLS is required of all others, a WebSocket is a way in of its own", async t => {
  const { uri } = await start(t, { SVC_POSTGRES_TLS: "always" })
  const client = new Client(uri)
  await client.connect()
  assert.deepEqual((await client.query("SELECT 1 AS one")).rows, [{ one: 1 }])
  await client.end()
})

test("a connection string that its database let in counts against its organization's limit, and a wrong one does not", async t => {
  const { p, uri } = await start(t, { SVC_RATE_LIMIT: "plan" })
  const limitOf = async (connectionString: string): Promise<[number, number]> => {
    const response = await watchedFetch(`${p.url}/sql`, {
      method: "POST",
      headers: { "neon-connection-string": connectionString },
      body: JSON.stringify({ query: "SELECT 1", params: [] }),
    })
    return [response.status, Number(response.headers.get("x-ratelimit-limit"))]
  }
  const wrong = changed(uri, url => (url.password = "wrong"))
  const [, ofAddresses] = await limitOf(wrong)
  assert.deepEqual(await limitOf(uri), [200, ofAddresses])
  const [status, ofPlan] = await limitOf(uri)
  assert.equal(status, 200)
  assert.notEqual(ofPlan, ofAddresses)
  assert.deepEqual(await limitOf(wrong), [400, ofAddresses])

  const without = async () => (await watchedFetch(`${p.url}/sql`, { method: "POST", body: "{}" })).status
  const statuses = await Promise.all(Array.from({ length: ofAddresses }, without))
  assert.deepEqual([...new Set(statuses)].sort(), [400, 429])
  assert.equal((await limitOf(uri))[0], 200)
})
