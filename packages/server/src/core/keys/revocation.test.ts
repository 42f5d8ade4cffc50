import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { sql } from "kysely"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { holdsWithin, use } from "./testing/use.ts"

/** Sooner than what a process knows grows old by itself; the news take milliseconds, and on a busy machine longer. */
const SOON_MS = 8_000

/** A second process of the platform. */
const secondOf = (t: TestContext, first: TestPlatform) =>
  platform(t, { databaseUrl: first.config.databaseUrl ?? "" })

test("a revoked key is refused from the next request on", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id, secret } = await p.key("acme", ["kv:read"])

  for (let round = 0; round < 5; round++) assert.equal(await use(p, secret), "ok")
  await person.keys.revoke({ id })
  assert.equal(await use(p, secret), "api_key_revoked")
})

test("requests that were under way at a revocation leave nothing behind that lets later ones in", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  for (let round = 0; round < 10; round++) {
    const { id, secret } = await p.key("acme", ["kv:read"])
    const underWay = Array.from({ length: 20 }, () => use(p, secret))
    await person.keys.revoke({ id })
    assert.equal(await use(p, secret), "api_key_revoked")
    await Promise.all(underWay)
    assert.equal(await use(p, secret), "api_key_revoked")
  }
})

test("another process hears of all that ends or narrows a key", async t => {
  const p = await platform(t)
  await using second = await secondOf(t, p)
  const person = await p.person("acme")
  const key = () => p.key("acme", ["kv:read", "storage:read"], { project_id: null })

  const heardAfter = async (secret: string, act: () => Promise<unknown>, code: string) => {
    assert.equal(await use(second, secret), "ok")
    await act()
    await holdsWithin(SOON_MS, async () => (await use(second, secret)) === code)
  }

  const revoked = await key()
  await heardAfter(revoked.secret, () => person.keys.revoke({ id: revoked.id }), "api_key_revoked")
  const rotated = await key()
  await heardAfter(
    rotated.secret,
    () => person.keys.rotate({ id: rotated.id, grace_period_seconds: 0 }),
    "api_key_expired",
  )
  const narrowed = await key()
  await heardAfter(
    narrowed.secret,
    () => person.keys.update({ id: narrowed.id, scopes: ["storage:read"] }),
    "missing_scope",
  )
  const fenced = await key()
  await heardAfter(
    fenced.secret,
    () => person.keys.update({ id: fenced.id, ip_allowlist: ["203.0.113.1"] }),
    "ip_not_allowed",
  )
})

test("another process hears that a project or an organization was deleted", async t => {
  const p = await platform(t)
  await using second = await secondOf(t, p)
  const person = await p.person("acme")
  const { organizationId, projectId } = await p.tenant("acme")
  const bound = await p.key("acme", ["kv:read"])
  const wide = await p.key("acme", ["kv:read"], { project_id: null })
  const naming = { "x-svc-project": projectId }
  for (const process of [p, second]) {
    assert.equal(await use(process, bound.secret), "ok")
    assert.equal(await use(process, wide.secret, naming), "ok")
  }

  await person.projects.delete({ id: projectId })
  assert.equal(await use(p, bound.secret), "api_key_revoked")
  assert.equal(await use(p, wide.secret, naming), "project_not_in_organization")
  await holdsWithin(SOON_MS, async () => (await use(second, bound.secret)) === "api_key_revoked")
  await holdsWithin(
    SOON_MS,
    async () => (await use(second, wide.secret, naming)) === "project_not_in_organization",
  )

  await person.organizations.delete({ org_id: organizationId })
  assert.equal(await use(p, wide.secret), "invalid_api_key")
  await holdsWithin(SOON_MS, async () => (await use(second, wide.secret)) === "invalid_api_key")
})

const LISTENERS = sql`pg_stat_activity WHERE application_name = 'svc-changes' AND datname = current_database()`

test("a process that was deaf while a key was revoked does not go on letting it in, and hears again after", async t => {
  const p = await platform(t)
  await using second = await secondOf(t, p)
  const person = await p.person("acme")
  const bothListen = async () => {
    const { rows } = await sql<{ count: number }>`SELECT count(*) FROM ${LISTENERS}`.execute(p.database.db)
    return rows[0]?.count === 2
  }
  const deafen = () => sql`SELECT pg_terminate_backend(pid) FROM ${LISTENERS}`.execute(p.database.db)

  for (const disturb of [deafen, deafen, async () => undefined]) {
    await holdsWithin(60_000, bothListen)
    const { id, secret } = await p.key("acme", ["kv:read"])
    assert.equal(await use(second, secret), "ok")
    await disturb()
    await person.keys.revoke({ id })

    assert.equal(await use(p, secret), "api_key_revoked")
    await holdsWithin(SOON_MS, async () => (await use(second, secret)) === "api_key_revoked")
  }
})

test("last-used times of two processes meet in one row, and the later one stays", async t => {
  const p = await platform(t)
  await using second = await secondOf(t, p)
  const person = await p.person("acme")
  const { id, secret } = await p.key("acme", ["kv:read"])

  await use(second, secret)
  await p.clock.advance(30_000)
  await use(p, secret)
  const usedAt = new Date(p.clock.now()).toISOString()
  await p.clock.advance(60_000)
  await second.clock.advance(60_000)

  assert.equal((await person.keys.get({ id })).last_used_at, usedAt)
})
