import assert from "node:assert/strict"
import { test } from "node:test"
import type { Role } from "@svc/contract"
import { sql } from "kysely"
import { platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"

const DAY_MS = 86_400_000

interface Answered {
  readonly status: number
  readonly code: string | undefined
  readonly body: Record<string, unknown>
  readonly replayed: boolean
}

/** One POST with an Idempotency-Key. */
const post = async (
  p: TestPlatform,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answered> => {
  const response = await p.request(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  const reply = (await response.json()) as Record<string, unknown>
  return {
    status: response.status,
    code: reply.code as string | undefined,
    body: reply,
    replayed: response.headers.get("idempotent-replayed") === "true",
  }
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const keyed = (secret: string, key: string) => ({ ...bearer(secret), "idempotency-key": key })

const OUTSIDE = "/v1/probe/outside"
const DANGER = "/v1/probe/danger"

/** A door that calls wait behind until it is opened. */
const createDoor = () => {
  const { promise, resolve: open } = Promise.withResolvers<void>()
  let waiting = 0
  const arrived = Promise.withResolvers<void>()
  return {
    open,
    /** Resolves once somebody waits. */
    arrived: arrived.promise,
    count: () => waiting,
    async wait() {
      waiting++
      arrived.resolve()
      await promise
    },
  }
}

test("the same request is answered again from memory and does not act again", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])

  for (const path of [OUTSIDE, DANGER]) {
    const first = await post(p, path, { text: path }, keyed(secret, "one"))
    const second = await post(p, path, { text: path }, keyed(secret, "one"))
    assert.deepEqual([first.status, first.replayed], [200, false])
    assert.deepEqual([second.status, second.replayed], [200, true])
    assert.deepEqual(second.body.data, first.body.data)
  }
  assert.deepEqual(p.effects, [OUTSIDE, DANGER])
})

test("a body with its fields in another order is the same request, one with another value is not", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])
  const headers = keyed(secret, "one")
  await post(p, OUTSIDE, { text: "a", fail: false }, headers)

  assert.ok((await post(p, OUTSIDE, { fail: false, text: "a" }, headers)).replayed)
  const other = await post(p, OUTSIDE, { text: "b" }, headers)

  assert.deepEqual([other.status, other.code], [400, "idempotency_key_mismatch"])
  assert.deepEqual(p.effects, ["a"])
})

test("a twin that comes while the first is under way is told to wait, and twenty have one effect", async t => {
  const door = createDoor()
  const p = await platform(t, { wait: door.wait })
  const { secret } = await p.key("acme", ["kv:write"])
  const send = () => post(p, OUTSIDE, { text: "once" }, keyed(secret, "one"))

  const first = send()
  await door.arrived
  const twins = await Promise.all(Array.from({ length: 20 }, send))
  for (const twin of twins) assert.deepEqual([twin.status, twin.code], [409, "idempotency_key_in_use"])
  door.open()

  assert.equal((await first).status, 200)
  assert.ok((await send()).replayed)
  assert.equal(door.count(), 1)
  assert.deepEqual(p.effects, ["once"])
})

test("parallel twins of a transaction have one effect, one audit entry and one answer", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])

  const answers = await Promise.all(
    Array.from({ length: 30 }, () => post(p, DANGER, { text: "once" }, keyed(secret, "one"))),
  )

  assert.deepEqual(p.effects, ["once"])
  for (const { status, code } of answers) assert.ok(status === 200 || code === "idempotency_key_in_use")
  assert.equal(answers.filter(({ status, replayed }) => status === 200 && !replayed).length, 1)
  const entries = await p.database.db
    .selectFrom("core.audit_events")
    .select("id")
    .where("action", "=", "probe.danger")
    .execute()
  assert.equal(entries.length, 1)
})

test("an Idempotency-Key belongs to one caller and one path", async t => {
  const p = await platform(t)
  const one = await p.key("acme", ["kv:write"])
  const other = await p.key("acme", ["kv:write"])
  const foreign = await p.key("globex", ["kv:write"])

  for (const { secret } of [one, other, foreign]) {
    for (const path of [OUTSIDE, DANGER]) {
      assert.equal((await post(p, path, { text: "a" }, keyed(secret, "shared"))).replayed, false)
    }
  }
  assert.equal(p.effects.length, 6)
})

test("a key of the whole organization repeats a request in the same project only", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:write"], { project_id: null })
  const headers = keyed(secret, "one")
  await post(p, OUTSIDE, { text: "a" }, { ...headers, "x-svc-project": projectId })

  const elsewhere = await post(p, OUTSIDE, { text: "a" }, headers)

  assert.equal(elsewhere.code, "idempotency_key_mismatch")
})

test("an answer is kept for 24 hours, and its record is then cleared away", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])
  const send = () => post(p, OUTSIDE, { text: "a" }, keyed(secret, "one"))
  await send()

  await p.clock.advance(DAY_MS - 1)
  assert.ok((await send()).replayed)
  await p.clock.advance(1)
  assert.equal((await send()).replayed, false)
  assert.deepEqual(p.effects, ["a", "a"])

  await p.clock.advance(DAY_MS + 2 * 3_600_000)
  assert.deepEqual(await p.database.db.selectFrom("kernel.replays").select("path").execute(), [])
})

test("a refusal that says what is wrong is kept; one that says who or when is not", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])
  const kept = () => p.database.db.selectFrom("kernel.replays").select(["path", "status"]).execute()

  // 409 of a handler.
  const first = await post(p, DANGER, { text: "a", fail: true }, keyed(secret, "one"))
  const again = await post(p, DANGER, { text: "a", fail: true }, keyed(secret, "one"))
  assert.deepEqual([first.status, first.replayed], [409, false])
  assert.deepEqual([again.status, again.replayed, again.code], [409, true, "conflict"])
  assert.deepEqual(await kept(), [{ path: DANGER, status: 409 }])

  // 500 of a handler.
  for (let attempt = 0; attempt < 2; attempt++) {
    const broken = await post(p, "/v1/probe/broken", {}, keyed(secret, "two"))
    assert.deepEqual([broken.status, broken.replayed], [500, false])
  }
  assert.equal((await kept()).length, 1)
})

test("a 403 of a handler is forgotten, so that the same request passes once it is allowed", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const session = await p.session("acme", "member")
  const send = () =>
    post(
      p,
      "/v1/keys",
      { name: "ci", type: "secret", scopes: ["billing:write"], project_id: projectId },
      { ...session, "idempotency-key": "one" },
    )
  const become = (role: Role) =>
    p.database.db.updateTable("core.members").set({ role }).where("role", "=", "member").execute()

  assert.equal((await send()).code, "scope_exceeds_creator")
  await become("admin")
  assert.deepEqual([(await send()).status, (await send()).replayed], [201, true])
})

test("a credential refused with 401, and a call refused with 429, leave no record", async t => {
  const p = await platform(t, { env: { SVC_RATE_LIMIT: "plan" } })
  await p.tenant("small", "free")
  const { secret } = await p.key("small", ["kv:write"])
  await post(p, OUTSIDE, { text: "a" }, keyed(`${secret}x`, "one"))
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => post(p, OUTSIDE, { text: "a" }, keyed(secret, `key-${index}`))),
  )

  const limited = answers.filter(({ status }) => status === 429).length
  const rows = await p.database.db.selectFrom("kernel.replays").select("status").execute()
  assert.ok(limited > 0)
  assert.equal(rows.length, 40 - limited)
})

test("a caller who lost a reply with a secret gets it again, and the record holds it sealed alone", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const ask = { name: "ci", type: "secret", scopes: ["kv:read"] }
  const { body } = await post(p, "/v1/keys", ask, { ...session, "idempotency-key": "one" })
  const { secret } = body.data as { secret: string }
  const again = await post(p, "/v1/keys", ask, { ...session, "idempotency-key": "one" })
  assert.equal(again.replayed, true)
  assert.deepEqual(again.body.data, body.data)

  const [row] = await p.database.db.selectFrom("kernel.replays").selectAll().execute()
  assert.ok(row?.body)
  assert.ok(!JSON.stringify(row).includes(secret))
  assert.ok(!JSON.stringify(row).includes('secret":'))
})

test("an Idempotency-Key that is no key is refused before anything happens", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:write"])

  for (const key of ["x".repeat(256), "with space", "umläut"]) {
    const refused = await post(p, OUTSIDE, { text: "a" }, keyed(secret, key))
    assert.deepEqual([refused.status, refused.code], [400, "idempotency_key_invalid"])
  }
  assert.deepEqual(p.effects, [])
  assert.equal((await post(p, OUTSIDE, { text: "a" }, keyed(secret, "x".repeat(255)))).status, 200)
})

test("an answer with null characters in it is replayed as it was", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["kv:read", "kv:write"])
  const ops = [
    { op: "set", key: "a", value: "\0 and \ud800" },
    { op: "get", key: "a" },
  ]

  const first = await post(p, "/v1/kv/batch", { ops }, keyed(secret, "one"))
  const second = await post(p, "/v1/kv/batch", { ops }, keyed(secret, "one"))

  assert.ok(second.replayed)
  assert.deepEqual(second.body, first.body)
})

/** Makes every insert into the table fail, as a full disk would. */
const breakInserts = ({ database: { db } }: TestPlatform, table: string) =>
  sql`
    CREATE FUNCTION core.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${sql.table(table)} FOR EACH ROW EXECUTE FUNCTION core.fail()`.execute(
    db,
  )

test("effect, audit entry and answer commit together or not at all", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const name = uniqueName()
  const send = () =>
    post(
      p,
      "/v1/keys",
      { name, type: "secret", scopes: ["kv:read"] },
      { ...session, "idempotency-key": "one" },
    )
  const made = () => p.database.db.selectFrom("core.api_keys").select("id").where("name", "=", name).execute()
  const audited = () =>
    p.database.db
      .selectFrom("core.audit_events")
      .select("id")
      .where("action", "=", "api_key_created")
      .execute()
  const answered = () => p.database.db.selectFrom("kernel.replays").select("status").execute()

  await breakInserts(p, "core.audit_events")
  assert.equal((await send()).status, 500)
  assert.deepEqual([await made(), await audited(), await answered()], [[], [], []])

  await sql`DROP TRIGGER fail ON core.audit_events`.execute(p.database.db)
  assert.equal((await send()).status, 201)
  assert.deepEqual(
    [await answered(), (await made()).length, (await audited()).length],
    [[{ status: 201 }], 1, 1],
  )
  assert.ok((await send()).replayed)
})

test("an answer that cannot be kept takes its effect back", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const name = uniqueName()
  await sql`ALTER TABLE kernel.replays ADD CONSTRAINT broken CHECK (status IS NULL)`.execute(p.database.db)

  const refused = await post(
    p,
    "/v1/keys",
    { name, type: "secret", scopes: ["kv:read"] },
    { ...session, "idempotency-key": "one" },
  )

  assert.equal(refused.status, 500)
  const rows = await p.database.db.selectFrom("core.api_keys").select("id").where("name", "=", name).execute()
  assert.deepEqual(rows, [])
})

test("a request that was thought dead and taken over by its retry has no effect of its own", async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const { db } = p.database
  const name = uniqueName()
  // Stands for a retry that claims the key while the first request is still in its transaction.
  await sql`
    CREATE FUNCTION core.take_over() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE kernel.replays SET token = gen_random_uuid(); RETURN NEW; END $$;
    CREATE TRIGGER take_over BEFORE INSERT ON core.api_keys FOR EACH ROW EXECUTE FUNCTION core.take_over()`.execute(
    db,
  )

  const late = await post(
    p,
    "/v1/keys",
    { name, type: "secret", scopes: ["kv:read"] },
    { ...session, "idempotency-key": "one" },
  )

  assert.deepEqual([late.status, late.code], [409, "idempotency_key_in_use"])
  assert.deepEqual(await db.selectFrom("core.api_keys").select("id").where("name", "=", name).execute(), [])
})
