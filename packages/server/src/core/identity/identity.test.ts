import assert from "node:assert/strict"
import { test } from "node:test"
import { dataPlaneScopes, plans, scopeNames } from "@svc/contract"
import { platform } from "../../testing/platform.ts"

const DAY_MS = 86_400_000

test("a key is told what it is, what it may do and what is left of its limits", async t => {
  const p = await platform(t)
  const { organizationId, projectId } = await p.tenant("acme", "pro")
  const expires_at = new Date(p.clock.now() + DAY_MS)
  const { id, secret } = await p.key("acme", ["kv:write"], {
    name: "ci",
    read_only: true,
    ip_allowlist: ["127.0.0.0/8"],
    expires_at,
  })

  const { rate_limits, ...me } = await p.as(secret).identity.me()

  assert.deepEqual(me, {
    key: {
      id,
      name: "ci",
      type: "secret",
      prefix: secret.slice(0, "svc_sk_".length + 8),
      read_only: true,
      require_approval: false,
      ip_allowlist: ["127.0.0.0/8"],
      expires_at: expires_at.toISOString(),
      created_at: new Date(p.clock.now()).toISOString(),
    },
    organization: { id: organizationId, name: "acme", plan: "pro" },
    project: { id: projectId, name: "default" },
    user: null,
    scopes: ["kv:write"],
  })
  const midnight = new Date((Math.floor(p.clock.now() / DAY_MS) + 1) * DAY_MS).toISOString()
  assert.deepEqual(rate_limits, {
    requests_per_second: 100,
    burst: 100,
    remaining: 100,
    reset_at: new Date(p.clock.now()).toISOString(),
    ai_requests_per_day: { limit: null, used: 0, remaining: null, reset_at: midnight },
  })
})

test("a key of the whole organization is in the project that it names, or in none", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:read"], { project_id: null })
  const svc = p.as(secret)

  assert.equal((await svc.identity.me()).project, null)
  assert.deepEqual((await svc.identity.me({}, { project: projectId })).project, {
    id: projectId,
    name: "default",
  })
})

test("a key of a person, and a signed-in person, are told whose they are", async t => {
  const p = await platform(t)
  const { projectId, ownerId } = await p.tenant("acme")
  const personal = await p.key("acme", ["kv:read"], { type: "personal" })
  const person = await p.person("acme", "member")
  const account = await person.account.get()

  const ofKey = await p.as(personal.secret).identity.me()
  assert.deepEqual([ofKey.key?.type, ofKey.user?.id], ["personal", ownerId])

  const ofPerson = await person.identity.me()
  assert.deepEqual(
    [ofPerson.key, ofPerson.project, ofPerson.user],
    [null, null, { id: account.id, email: account.email, name: account.name }],
  )
  assert.ok(ofPerson.scopes.includes("kv:write"))
  assert.ok(!ofPerson.scopes.includes("admin:full"))
  assert.equal((await person.identity.me({}, { project: projectId })).project?.id, projectId)
})

test("what is left of the rate is what the next call will find", async t => {
  const p = await platform(t, { env: { SVC_RATE_LIMIT: "plan" } })
  await p.tenant("small", "free")
  const { secret } = await p.key("small", ["kv:read"])
  const svc = p.as(secret)
  for (let count = 0; count < 4; count++) await svc.kv.get({ key: "a" })

  const { rate_limits } = await svc.identity.me()

  assert.equal(rate_limits.requests_per_second, plans.free.requests_per_second)
  assert.equal(rate_limits.remaining, svc.rateLimit?.remaining)
  assert.equal(rate_limits.remaining, plans.free.requests_per_second - 5)
  assert.equal(rate_limits.reset_at, new Date(p.clock.now() + 250).toISOString())
})

test("the AI requests of a day are counted against the plan, and start anew at midnight UTC", async t => {
  const p = await platform(t)
  const { organizationId, projectId } = await p.tenant("small", "free")
  const { id, secret } = await p.key("small", ["kv:read"])
  const svc = p.as(secret)
  const use = (quantity: number) =>
    p.database.db
      .insertInto("core.usage")
      .values({
        organization_id: organizationId,
        project_id: projectId,
        key_id: id,
        metric: "ai_requests",
        day: new Date(p.clock.now()).toISOString().slice(0, 10),
        quantity,
      })
      .execute()
  const today = async () => {
    const { limit, used, remaining } = (await svc.identity.me()).rate_limits.ai_requests_per_day
    return { limit, used, remaining }
  }

  await use(123)
  assert.deepEqual(await today(), { limit: 500, used: 123, remaining: 377 })
  await p.clock.advance(DAY_MS)
  await use(600)
  assert.deepEqual(await today(), { limit: 500, used: 600, remaining: 0 })
})

test("every area reports its state", async t => {
  const p = await platform(t)

  const { services } = await (await p.client("acme", "kv:read")).identity.services()

  const [probe, kv] = ["probe", "kv"].map(area => services.find(({ name }) => name === area))
  assert.deepEqual(probe, {
    name: "probe",
    title: "Probe",
    status: "available",
    reason: null,
    setting: null,
    capabilities: {},
  })
  assert.equal(kv?.status, "available")
})

test("an area whose engine is away says why and which setting to look at, and harms no other", async t => {
  const p = await platform(t, { env: { SVC_KV_URL: "redis://127.0.0.1:1" } })
  const svc = await p.client("acme", "kv:read")

  const { services } = await svc.identity.services()

  const [probe, kv] = ["probe", "kv"].map(area => services.find(({ name }) => name === area))
  assert.deepEqual([kv?.status, kv?.setting, probe?.status], ["degraded", "SVC_KV_URL", "available"])
  assert.ok(kv?.reason)
  assert.equal((await svc.identity.me()).organization.name, "acme")
})

test("the scopes are listed, all 64, each with what it grants", async t => {
  const p = await platform(t)
  const { scopes } = await (await p.client("acme", "kv:read")).identity.scopes()

  assert.deepEqual(
    scopes.map(({ name }) => name),
    [...scopeNames],
  )
  assert.equal(scopes.length, 64)
  for (const { name, service, action, description } of scopes) {
    assert.equal(name, `${service}:${action}`)
    assert.ok(description.length > 10)
  }
  assert.deepEqual(
    scopes.filter(({ platform }) => !platform).map(({ name }) => name),
    [...dataPlaneScopes],
  )
})
