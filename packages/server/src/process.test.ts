/** What an operator sees of `main.ts`: its first start and later ones, its refusals, how it ends. */

import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { createSvc } from "@svc/sdk"
import pg from "pg"
import { cloneDatabase, databaseUrl } from "./testing/database.ts"
import { eventually } from "./testing/eventually.ts"
import { freePort } from "./testing/ports.ts"
import {
  dataFolder,
  isRoot,
  MAIN,
  NOBODY,
  readFirstRun,
  type SpawnOptions,
  spawnSvc,
} from "./testing/process.ts"

/** The server as `npm start` runs it without a bundle. */
const SOURCES = fileURLToPath(new URL("main.ts", import.meta.url))

/** Starts what must not start, and gives what it says about that. */
const refusal = async (t: TestContext, options: SpawnOptions): Promise<string> => {
  const svc = spawnSvc(t, options)
  const { code } = await svc.exited
  assert.equal(code, 1, svc.stdout())
  assert.doesNotMatch(svc.stderr(), /\n\s+at /, "a refusal is a message and not a stack")
  assert.equal(svc.stdout(), "")
  return svc.stderr()
}

test("the first start keeps credentials in a file and out of a log, the second makes none, and the data stay", async t => {
  const first = spawnSvc(t)
  const url = await first.ready
  const made = readFirstRun(first.dataDir)

  assert.equal(statSync(join(first.dataDir, "first-run.json")).mode & 0o777, 0o600)
  assert.deepEqual(Object.keys(made), [
    ...["base_url", "console_url", "sign_in_url", "email", "password"],
    ...["organization_id", "project_id", "api_key", "publishable_key"],
  ])
  assert.equal(made.base_url, url)
  // Its output is no terminal here.
  for (const secret of [made.password, made.api_key, made.sign_in_url])
    assert.ok(!first.stdout().includes(secret))
  assert.ok(first.stdout().includes(join(first.dataDir, "first-run.json")))
  await createSvc({ apiKey: made.api_key, baseUrl: url }).kv.set({ key: "hello", value: "world" })
  assert.deepEqual(await first.stop(), { code: 0, signal: null })
  assert.equal(first.stderr(), "")

  const second = spawnSvc(t, { dataDir: first.dataDir, command: [process.execPath, SOURCES] })
  const svc = createSvc({ apiKey: made.api_key, baseUrl: await second.ready })
  assert.equal((await svc.kv.get({ key: "hello" })).value, "world")
  for (const secret of [made.password, made.api_key, made.publishable_key]) {
    assert.ok(!second.stdout().includes(secret) && !second.stderr().includes(secret))
  }
  assert.deepEqual(readFirstRun(first.dataDir), made)
  assert.deepEqual(await second.stop(), { code: 0, signal: null })
})

test("what starts here is the bundle", async t => {
  const folder = dataFolder(t)
  await refusal(t, { env: { SVC_PORT: "none", NODE_V8_COVERAGE: folder } })
  const covered = readdirSync(folder).map(name => readFileSync(join(folder, name), "utf8"))
  assert.match(covered.join(), /"url":"[^"]+\/server\/dist\/run-/, "no bundle was made")
  assert.doesNotMatch(covered.join(), /"url":"[^"]+\/server\/src\//)
  assert.doesNotMatch(covered.join(), /deps\/undici/, "Node's fetch is loaded before anybody needs it")
})

test("a terminal shows the first person's key and password", async t => {
  const command = ["script", "-qec", `exec ${process.execPath} ${MAIN}`, "/dev/null"] as const
  const svc = spawnSvc(t, { command })
  await svc.ready
  const { api_key, password, sign_in_url } = readFirstRun(svc.dataDir)
  for (const secret of [api_key, password, sign_in_url]) assert.ok(svc.stdout().includes(secret))
  await svc.stop()
})

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const) {
  test(`npm start that ends by ${signal} takes the server and its database with it`, async t => {
    const root = fileURLToPath(new URL("../../..", import.meta.url))
    const svc = spawnSvc(t, { command: ["npm", "start", "--prefix", root] })
    const { port } = new URL(await svc.ready)
    svc.signal(signal)
    // The server has npm's output too, so this waits for both.
    await svc.exited
    assert.equal(await refusesConnections(Number(port)), true)
    assert.equal(existsSync(join(svc.dataDir, "svc.lock")), false)
    assert.equal(existsSync(join(svc.dataDir, "postgres", "postmaster.pid")), false)
  })
}

test("a terminal that is closed ends the server in order", async t => {
  const svc = spawnSvc(t)
  await svc.ready
  svc.signal("SIGHUP")
  assert.deepEqual(await svc.exited, { code: 0, signal: null })
  assert.equal(existsSync(join(svc.dataDir, "postgres", "postmaster.pid")), false)
})

test("the base URL is the address taken, or the one that was set, wherever it is told", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const env = { SVC_DATABASE_URL: database.url, SVC_MASTER_KEY: Buffer.alloc(32, "test").toString("base64") }
  const docsUrl = async (url: string) => {
    const refused = (await (await fetch(`${url}/v1/me`)).json()) as { docs_url: string }
    return refused.docs_url
  }

  const own = spawnSvc(t, { env })
  const url = await own.ready
  assert.match(url, /^http:\/\/localhost:\d{4,5}$/)
  assert.equal(await docsUrl(url), `${url}/docs/errors/missing_credentials`)
  await own.stop()

  const port = await freePort()
  const fronted = spawnSvc(t, {
    env: { ...env, SVC_BASE_URL: "https://cloud.example.com/", SVC_PORT: String(port) },
  })
  assert.equal(await fronted.ready, "https://cloud.example.com")
  assert.equal(
    await docsUrl(`http://localhost:${port}`),
    "https://cloud.example.com/docs/errors/missing_credentials",
  )
})

test("an ordinary user can run all of it", {
  skip: isRoot ? false : "every other test does when not started by root",
}, async t => {
  const svc = spawnSvc(t, { uid: NOBODY })
  await svc.ready
  const { api_key, base_url } = readFirstRun(svc.dataDir)
  assert.equal(
    (await createSvc({ apiKey: api_key, baseUrl: base_url }).kv.set({ key: "a", value: 1 })).ok,
    true,
  )
  for (const name of ["first-run.json", "master.key", "postgres", "kv"]) {
    const { uid, mode } = statSync(join(svc.dataDir, name))
    assert.deepEqual([uid, mode & 0o077], [NOBODY, 0], name)
  }
  assert.deepEqual(await svc.stop(), { code: 0, signal: null })
})

test("all that is wrong with the settings is told at once", async t => {
  const env = {
    SVC_PORT: "70000",
    SVC_MODE: "prod",
    SVC_HOST: "example.com",
    SVC_KV_URL: "http://localhost",
    SVC_TRUSTED_PROXIES: "10.0.0.0/99",
    SVC_TELEMETRY: "off",
    SVC_DATABASE_URL: "mysql://root:hunter2@localhost",
  }
  const said = await refusal(t, { env })
  for (const name of Object.keys(env)) assert.ok(said.includes(name), `${name}: ${said}`)
  assert.ok(!said.includes("hunter2"))
})

test("a port in use, a folder in use and one that cannot be written are named, with what to do", async t => {
  const taken = createServer().listen(0, "127.0.0.1")
  t.after(() => taken.close())
  await once(taken, "listening")
  const { port } = taken.address() as AddressInfo
  const onPort = await refusal(t, { env: { SVC_PORT: String(port) } })
  assert.match(onPort, new RegExp(`127\\.0\\.0\\.1:${port}: something else listens there`))
  assert.match(onPort, /SVC_PORT/)

  const svc = spawnSvc(t)
  await svc.ready
  const inUse = await refusal(t, { dataDir: svc.dataDir })
  assert.match(inUse, new RegExp(`in use by another Svc, process ${svc.pid}`))
  assert.match(inUse, /SVC_DATA_DIR/)
  assert.equal((await fetch(`${await svc.ready}/health/ready`)).status, 200)

  const inside = join(svc.dataDir, "first-run.json", "data")
  assert.match(
    await refusal(t, { dataDir: inside }),
    /cannot create the data directory .*: a file of that name is in the way/,
  )
  const { uid, ...foreign } = isRoot
    ? { uid: NOBODY, dataDir: dataFolder(t) }
    : { uid: undefined, dataDir: "/" }
  const unwritable = await refusal(t, { ...foreign, ...(uid !== undefined && { uid }) })
  assert.match(unwritable, /Svc cannot .*: permission is denied\.[\s\S]*SVC_DATA_DIR/)
})

test("a control database that is newer, or does not answer, is refused", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(
    "INSERT INTO kernel.migrations (schema, name, sha256) VALUES ('core', '9999_future.sql', '')",
  )
  await client.end()
  const newer = await refusal(t, { env: { SVC_DATABASE_URL: database.url } })
  assert.match(newer, /newer version of Svc \(core\/9999_future\.sql\)/)

  const absent = databaseUrl(database.url, "no_such_database")
  assert.match(await refusal(t, { env: { SVC_DATABASE_URL: absent } }), /does not answer: .*no_such_database/)
  const nowhere = "postgres://somebody:hunter2@127.0.0.1:1/svc"
  const unreachable = await refusal(t, { env: { SVC_DATABASE_URL: nowhere } })
  assert.match(unreachable, /does not answer: .*ECONNREFUSED[\s\S]*SVC_DATABASE_URL/)
  assert.ok(!unreachable.includes("hunter2"))
})

test("several processes that start at once on one empty database agree on one first run", async t => {
  const known = await cloneDatabase()
  t.after(() => known[Symbol.asyncDispose]())
  const client = new pg.Client({ connectionString: databaseUrl(known.url, "postgres") })
  await client.connect()
  const name = `empty_${process.pid}`
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0`)
  t.after(async () => {
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await client.end()
  })
  const env = {
    SVC_DATABASE_URL: databaseUrl(known.url, name),
    SVC_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  }
  const all = [1, 2, 3].map(() => spawnSvc(t, { env }))
  const urls = await Promise.all(all.map(({ ready }) => ready))

  const firsts = all.filter(({ dataDir }) => existsSync(join(dataDir, "first-run.json")))
  assert.equal(firsts.length, 1)
  assert.equal(all.filter(svc => svc.stdout().includes("API key")).length, 1)
  const { api_key, organization_id } = readFirstRun(firsts[0]?.dataDir ?? "")
  for (const baseUrl of urls) {
    const { organization } = await createSvc({ apiKey: api_key, baseUrl }).identity.me()
    assert.equal(organization.id, organization_id)
  }
  for (const svc of all) assert.deepEqual(await svc.stop(), { code: 0, signal: null })
})

test("asked to end, it finishes what is under way, takes nothing new and is gone with its database", async t => {
  const svc = spawnSvc(t)
  const { port } = new URL(await svc.ready)
  const { api_key } = readFirstRun(svc.dataDir)
  const body = '{"key":"slow","value":"finished"}'
  const slow = connect(Number(port), "127.0.0.1")
  slow.write(
    `POST /v1/kv/set HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api_key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  )
  const [invited] = await once(slow, "data")
  assert.match(String(invited), /^HTTP\/1\.1 100 /)
  const idle = connect(Number(port), "127.0.0.1")
  await once(idle, "connect")

  svc.signal("SIGTERM")
  await eventually("new connections are refused", () => refusesConnections(Number(port)))
  slow.write(body)
  const [reply] = await once(slow, "data")
  assert.match(String(reply), /^HTTP\/1\.1 200 [\s\S]*"ok":true/)
  assert.deepEqual(await svc.exited, { code: 0, signal: null })
  assert.equal(svc.stderr(), "")
  assert.equal(existsSync(join(svc.dataDir, "svc.lock")), false)
  assert.equal(existsSync(join(svc.dataDir, "postgres", "postmaster.pid")), false)

  const again = spawnSvc(t, { dataDir: svc.dataDir })
  const client = createSvc({ apiKey: api_key, baseUrl: await again.ready })
  assert.equal((await client.kv.get({ key: "slow" })).value, "finished")
})

test("a caller who hangs up in the middle of an upload is no error in the log", async t => {
  const svc = spawnSvc(t)
  const { port } = new URL(await svc.ready)
  const { api_key } = readFirstRun(svc.dataDir)
  await createSvc({ apiKey: api_key, baseUrl: await svc.ready }).storage.createBucket({ name: "photos" })
  const upload = connect(Number(port), "127.0.0.1")
  upload.write(
    `PUT /v1/storage/buckets/photos/objects/beach.jpg HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api_key}\r\n` +
      "content-type: image/jpeg\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n\r\n",
  )
  const [invited] = await once(upload, "data")
  assert.match(String(invited), /^HTTP\/1\.1 100 /)
  upload.write(Buffer.alloc(100_000), () => upload.destroy())
  await once(upload, "close")
  // It ends when what is under way has.
  assert.deepEqual(await svc.stop(), { code: 0, signal: null })
  assert.equal(svc.stderr(), "")
})

const refusesConnections = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1")
  try {
    await once(socket, "connect")
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED"
  } finally {
    socket.destroy()
  }
}

test("asked to end while it starts, it ends in order and the next start finds everything", async t => {
  const svc = spawnSvc(t)
  await eventually("the start is under way", () => existsSync(join(svc.dataDir, "svc.lock")))
  assert.deepEqual(await svc.stop(), { code: 0, signal: null })
  assert.equal(existsSync(join(svc.dataDir, "postgres", "postmaster.pid")), false)

  const again = spawnSvc(t, { dataDir: svc.dataDir })
  const baseUrl = await again.ready
  const { api_key } = readFirstRun(svc.dataDir)
  assert.equal((await createSvc({ apiKey: api_key, baseUrl }).kv.set({ key: "a", value: 1 })).ok, true)
  assert.ok(readFileSync(join(svc.dataDir, "master.key"), "utf8").length > 40)
})
