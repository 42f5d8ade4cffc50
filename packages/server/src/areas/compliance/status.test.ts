import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { sql } from "kysely"
import { platform } from "../../testing/platform.ts"
import { scoreOf, verdictOf } from "./checks/check.ts"

const DAY_MS = 86_400_000

const checkOf = async (svc: Svc, name: string) => {
  const { checks } = await svc.compliance.status()
  const found = checks.find(({ id }) => id === name)
  assert.ok(found, name)
  return found
}

test("the score is the weight of what passes among what applies", () => {
  const of = (status: "pass" | "warn" | "fail" | "not_applicable", weight: number) => ({ status, weight })
  assert.equal(scoreOf([]), 100)
  assert.equal(scoreOf([of("pass", 2), of("not_applicable", 9), of("warn", 1)]), 66)
  assert.equal(verdictOf([of("pass", 1), of("warn", 1)]), "attention")
  assert.equal(verdictOf([of("warn", 1), of("fail", 1)]), "non_compliant")
  assert.equal(verdictOf([of("pass", 1), of("not_applicable", 1)]), "compliant")
})

test("keys that never end, are not used or hold all scopes are named, and no others", async t => {
  const p = await platform(t)
  const soon = new Date(p.clock.now() + 365 * DAY_MS)
  const reader = await p.key("acme", ["compliance:read"], {
    expires_at: soon,
    last_used_at: new Date(p.clock.now()),
  })
  const svc = p.as(reader.secret)
  assert.equal((await checkOf(svc, "keys_expire")).status, "pass")
  assert.equal((await checkOf(svc, "keys_scoped")).status, "pass")

  const endless = await p.key("acme", ["kv:read"])
  const full = await p.key("acme", [], { type: "full_access", expires_at: soon })
  await p.key("acme", ["kv:read"], { revoked_at: new Date(p.clock.now()) })
  await p.key("other", ["kv:read"])

  const ids = async (name: string) => (await checkOf(svc, name)).failing_entities.map(({ id }) => id)
  assert.deepEqual(await ids("keys_expire"), [endless.id])
  assert.deepEqual(await ids("keys_scoped"), [full.id])
  await p.clock.advance(100 * DAY_MS)
  const unused = await ids("keys_used")
  assert.ok(unused.includes(endless.id) && unused.includes(full.id))
})

test("checks look at the state of now: a disabled trigger, one owner, an old encryption key", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", "compliance:read", "encryption:use")
  assert.equal((await checkOf(svc, "audit_append_only")).status, "pass")
  assert.equal((await checkOf(svc, "encryption_at_rest")).status, "warn")
  assert.equal((await checkOf(svc, "transport")).status, "not_applicable")
  assert.equal((await checkOf(svc, "owners")).status, "warn")
  assert.equal((await checkOf(svc, "encryption_key_age")).status, "not_applicable")

  await sql`ALTER TABLE core.audit_events DISABLE TRIGGER audit_events_append_only`.execute(p.database.db)
  await p.person("acme")
  await svc.encryption.encrypt({ plaintext: "x" })

  assert.equal((await checkOf(svc, "audit_append_only")).status, "fail")
  assert.equal((await checkOf(svc, "owners")).status, "pass")
  assert.equal((await checkOf(svc, "encryption_key_age")).status, "pass")
  await p.clock.advance(91 * DAY_MS)
  const old = await checkOf(svc, "encryption_key_age")
  assert.deepEqual([old.status, old.failing_entities], ["warn", [{ type: "encryption_key", id: "1" }]])
})

test("with an https address and encryption at rest these checks pass; with plain http the transport fails", async t => {
  const env = { SVC_BASE_URL: "https://cloud.example", SVC_ENCRYPT_AT_REST: "on" }
  const secure = await (await platform(t, { env })).client("acme", "compliance:read")
  assert.equal((await checkOf(secure, "transport")).status, "pass")
  assert.equal((await checkOf(secure, "encryption_at_rest")).status, "pass")
  const plain = await (await platform(t, { env: { SVC_BASE_URL: "http://cloud.example" } })).client(
    "acme",
    "compliance:read",
  )
  assert.equal((await checkOf(plain, "transport")).status, "fail")
})
