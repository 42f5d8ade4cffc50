import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, uniqueName } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"
import { use } from "./testing/use.ts"

const DAY_MS = 86_400_000

test("the old secret works to the last moment of its grace, and the new one from the first", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const old = await p.key("acme", ["kv:read"], { project_id: null })

  const fresh = await person.keys.rotate({ id: old.id, grace_period_seconds: 3600 })

  assert.equal(fresh.rotated_from_id, old.id)
  assert.equal((await person.keys.get({ id: old.id })).status, "rotating")
  assert.equal(await use(p, fresh.secret ?? ""), "ok")
  await p.clock.advance(3_599_999)
  assert.equal(await use(p, old.secret), "ok")
  await p.clock.advance(1)
  assert.equal(await use(p, old.secret), "api_key_expired")
  assert.equal(await use(p, fresh.secret ?? ""), "ok")
})

test("the grace is a day unless told, and none at all when it is 0", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const first = await p.key("acme", ["kv:read"])
  const second = await p.key("acme", ["kv:read"])
  assert.equal(await use(p, second.secret), "ok")

  await person.keys.rotate({ id: first.id })
  await person.keys.rotate({ id: second.id, grace_period_seconds: 0 })

  const { grace_expires_at } = await person.keys.get({ id: first.id })
  assert.equal(grace_expires_at, new Date(p.clock.now() + DAY_MS).toISOString())
  assert.equal(await use(p, second.secret), "api_key_expired")
})

test("a replacement can do what the old key could, and lives as long", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const old = await person.keys.create({
    name: "ci",
    type: "service_account",
    scopes: ["kv:read"],
    read_only: true,
    require_approval: true,
    ip_allowlist: ["127.0.0.1"],
    expires_in_days: 10,
  })
  await p.clock.advance(3_600_000)

  const fresh = await person.keys.rotate({ id: old.id })

  const facts = ({
    name,
    type,
    scopes,
    project_id,
    read_only,
    require_approval,
    ip_allowlist,
  }: typeof fresh) => [name, type, scopes, project_id, read_only, require_approval, ip_allowlist]
  assert.deepEqual(facts(fresh), facts(old))
  assert.equal(fresh.expires_at, new Date(p.clock.now() + 10 * DAY_MS).toISOString())
  const given = new Date(p.clock.now() + 2 * DAY_MS).toISOString()
  assert.equal((await person.keys.rotate({ id: fresh.id, expires_at: given })).expires_at, given)
})

test("a key is rotated once, however many try at the same time", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id } = await p.key("acme", ["kv:read"])

  const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => person.keys.rotate({ id })))

  assert.equal(attempts.filter(({ status }) => status === "fulfilled").length, 1)
  for (const attempt of attempts) {
    if (attempt.status === "rejected") assert.equal(attempt.reason.code, "key_already_rotated")
  }
})

test("a key that has ended is not rotated", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const expired = await p.key("acme", ["kv:read"], { expires_at: new Date(p.clock.now() - 1) })
  const revoked = await p.key("acme", ["kv:read"], { revoked_at: new Date(p.clock.now()) })

  await refused(person.keys.rotate({ id: expired.id }), "invalid_expiry")
  await refused(person.keys.rotate({ id: revoked.id }), "key_already_revoked")
})

test("a member cannot rotate a key into their hands that could do more than they may", async t => {
  const p = await platform(t)
  const member = await p.person("acme", "member")
  const strong = await p.key("acme", ["admin:full"])
  const wide = await p.key("acme", ["kv:read"], {
    project_id: null,
    created_by: (await member.account.get()).id,
  })

  await refused(member.keys.rotate({ id: strong.id }), "scope_exceeds_creator")
  await refused(member.keys.rotate({ id: wide.id }), "org_wide_key_forbidden")
  await member.keys.rotate({ id: (await p.key("acme", ["kv:write"])).id })
})

test("no request fails because its key is being rotated", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id, secret } = await p.key("acme", ["kv:read"])
  const volley = () => Array.from({ length: 100 }, () => use(p, secret))

  const before = volley()
  const rotation = person.keys.rotate({ id, grace_period_seconds: 60 })
  const during = volley()
  const fresh = await rotation

  assert.deepEqual(new Set(await Promise.all([...before, ...during])), new Set(["ok"]))
  assert.equal(await use(p, fresh.secret ?? ""), "ok")
})

test("revoking one of a pair leaves the other, unless told to take both", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const pair = async () => {
    const old = await person.keys.create({ name: uniqueName(), type: "secret", scopes: ["kv:read"] })
    const fresh = await person.keys.rotate({ id: old.id })
    return {
      old,
      fresh,
      state: async () => [await use(p, old.secret ?? ""), await use(p, fresh.secret ?? "")],
    }
  }

  const first = await pair()
  await person.keys.revoke({ id: first.old.id })
  assert.deepEqual(await first.state(), ["api_key_revoked", "ok"])

  const second = await pair()
  await person.keys.delete({ id: second.fresh.id })
  assert.deepEqual(await second.state(), ["ok", "api_key_revoked"])

  const third = await pair()
  await person.keys.revoke({ id: third.fresh.id.toUpperCase(), cascade: true })
  assert.deepEqual(await third.state(), ["api_key_revoked", "api_key_revoked"])
  await refused(person.keys.revoke({ id: third.old.id }), "key_already_revoked")
})
