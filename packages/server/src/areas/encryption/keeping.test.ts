/** What becomes of keys and texts: who sees them, what they survive, and when they are gone. */
import assert from "node:assert/strict"
import { Writable } from "node:stream"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { pino } from "pino"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { BOTH_SCOPES, decrypted, encrypted, rewrapped } from "./testing/texts.ts"

/** Everything in the control database, as text. */
const everything = async ({ database: { pool } }: TestPlatform): Promise<string> => {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`,
  )
  const dumps = rows.map(({ name }) => pool.query(`SELECT t::text AS row FROM ${name} t`))
  return JSON.stringify((await Promise.all(dumps)).map(dump => dump.rows))
}

test("no plaintext reaches the database, its audit trail, its replays or the log", async t => {
  const lines: string[] = []
  const sink = new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) })
  const p = await platform(t, { log: pino({ level: "trace" }, sink) })
  const { secret } = await p.key("acme", BOTH_SCOPES, { project_id: null })
  const acme = p.as(secret)
  const SECRET = "THE-WORDS-THEMSELVES"
  const ciphertext = await encrypted(acme, SECRET, { a: "1" })
  await rewrapped(acme, ciphertext, { a: "1" })
  for (const [path, body] of [
    ["encrypt", { plaintext: SECRET, items: [{ plaintext: SECRET }] }],
    ["encrypt", { items: [{ plaintext: SECRET }] }],
    ["decrypt", { ciphertext, context: { a: "1" } }],
    ["encrypt", { plaintext: SECRET, surplus: 1 }],
  ] as const) {
    await p.request(`/api/v1/encryption/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "idempotency-key": `key-${path}`,
      },
      body: JSON.stringify(body),
    })
  }
  await acme.encryption.rotateKey()
  await p.clock.advance(61_000)

  const kept = (await everything(p)) + lines.join("")
  assert.ok(kept.includes("encryption.rotateKey"), "the trail is read")
  assert.ok(!kept.includes(SECRET))
  assert.ok(!kept.includes(Buffer.from(SECRET).toString("base64").slice(0, 20)))
})

test("texts are counted, those of a batch one by one", async t => {
  const p = await platform(t)
  const { id, secret } = await p.key("acme", BOTH_SCOPES, { project_id: null })
  const acme = p.as(secret)
  await decrypted(acme, await encrypted(acme, "a"))
  await acme.encryption.encrypt({ items: [{ plaintext: "a" }, { plaintext: "b" }, { plaintext: "c" }] })
  await p.clock.advance(1_000)

  const { quantity } = await p.database.db
    .selectFrom("core.usage")
    .select("quantity")
    .where("key_id", "=", id)
    .where("metric", "=", "encryption_ops")
    .executeTakeFirstOrThrow()
  assert.equal(quantity, 5)
})

test("a rotation waits for a person where the key must ask", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", BOTH_SCOPES, { project_id: null, require_approval: true })
  const response = await p.request("/api/v1/encryption/rotate-key", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
  })
  assert.equal(response.status, 202)
  const acme = await p.wide("acme", ...BOTH_SCOPES)
  assert.equal((await acme.encryption.key()).key_version, 1, "which sealed the request, and was not rotated")
})

test("texts that are encrypted and decrypted while two processes rotate the key are all right", async t => {
  const p = await platform(t)
  const second = await platform(t, { databaseUrl: p.config.databaseUrl ?? "" })
  const { secret } = await p.key("acme", BOTH_SCOPES, { project_id: null })
  const clients = [p.as(secret), second.as(secret)] as const
  const rotating = (async () => {
    for (let n = 0; n < 10; n++) await clients[n % 2 ? 1 : 0].encryption.rotateKey()
  })()
  const working = Array.from({ length: 12 }, async (_, worker) => {
    const [here, there] = worker % 2 ? clients : [clients[1], clients[0]]
    for (let n = 0; n < 20; n++) {
      const text = await encrypted(here, `${worker}:${n}`, { worker: `${worker}` })
      assert.equal(await decrypted(there, text, { worker: `${worker}` }), `${worker}:${n}`)
    }
  })
  await Promise.all([rotating, ...working])
  assert.equal((await clients[0].encryption.key()).key_version, 11)
})

test("a first use does not wait for a connection of the common pool", async t => {
  const p = await platform(t)
  const acme = await p.wide("acme", ...BOTH_SCOPES)
  await acme.identity.me()
  const hold = Promise.withResolvers<void>()
  const holders = Array.from({ length: p.config.databaseConnectionsMax }, () => {
    const holding = Promise.withResolvers<void>()
    const ended = p.database.transaction(tx => {
      holding.resolve()
      return tx
        .selectFrom("core.users")
        .select("id")
        .limit(1)
        .execute()
        .then(() => hold.promise)
    })
    return { holding: holding.promise, ended }
  })
  await Promise.all(holders.map(({ holding }) => holding))

  assert.equal(await decrypted(acme, await encrypted(acme, "text")), "text")

  hold.resolve()
  await Promise.all(holders.map(({ ended }) => ended))
})

test("with an organization all its keys go, and no other's", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const acme = await p.wide("acme", ...BOTH_SCOPES)
  const globex = await p.wide("globex", ...BOTH_SCOPES)
  await encrypted(acme, "text")
  await acme.encryption.rotateKey()
  await p.pendingApproval("acme")
  const kept = await encrypted(globex, "text")

  await (await p.person("acme")).organizations.delete({ org_id: organizationId })

  const rows = await p.database.db
    .selectFrom("encryption.keys")
    .select(["state", "wrapped_key"])
    .where("tenant_id", "=", organizationId)
    .execute()
  assert.deepEqual(rows, Array(2).fill({ state: "destroyed", wrapped_key: null }))
  assert.equal(await decrypted(globex, kept), "text")
})

test("the databases of a deleted organization are deleted with it, though nothing opens their passwords", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const acme = await p.client("acme", "database:manage")
  const { id } = await acme.databases.create({ name: "main" })
  await (await p.person("acme")).organizations.delete({ org_id: organizationId })

  await p.clock.advance(3_600_000)

  const { state, purge_at } = await p.database.db
    .selectFrom("databases.databases")
    .select(["state", "purge_at"])
    .where("id", "=", id)
    .executeTakeFirstOrThrow()
  assert.equal(state, "deleted")
  await p.clock.advance((purge_at?.getTime() ?? 0) - p.clock.now() + 3_600_000)
  const left = await p.database.db.selectFrom("databases.databases").select("id").execute()
  assert.deepEqual(left, [])
})

const signedIn = async (baseUrl: string, email: string, password: string) => {
  const { headers } = await createSvc({ baseUrl }).request("account.login", { email, password })
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? ""
  return createSvc({ baseUrl, retries: 0, headers: { cookie, origin: baseUrl } })
}

test("a text is decrypted by the process that comes after one that was killed", async t => {
  const first = spawnSvc(t)
  const { dataDir } = first
  const baseUrl = await first.ready
  const { api_key: apiKey, email, password } = readFirstRun(dataDir)
  const before = createSvc({ baseUrl, apiKey, retries: 0 })
  const old = await encrypted(before, "old")
  // The first key is bound to the first project, and the encryption key is the organization's.
  await (await signedIn(baseUrl, email, password)).encryption.rotateKey()
  const young = await encrypted(before, "young")
  first.signal("SIGKILL")
  await first.exited

  const second = spawnSvc(t, { dataDir })
  const after = createSvc({ baseUrl: await second.ready, apiKey, retries: 0 })
  assert.deepEqual([await decrypted(after, old), await decrypted(after, young)], ["old", "young"])
  assert.equal((await after.encryption.key()).key_version, 2)
})
