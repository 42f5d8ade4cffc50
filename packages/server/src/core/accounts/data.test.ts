import assert from "node:assert/strict"
import { test } from "node:test"
import { PASSWORD, platform } from "../../testing/platform.ts"
import { refused, signIn, signUp, stranger } from "./testing/people.ts"
import { withPhone } from "./testing/phone.ts"

const MINUTE = 60_000

test("a person gets what is kept of them: no secret, and nothing of others", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const bob = await signUp(p)
  const { data } = await ada.svc.projects.list()
  const { id: projectId } = data[0] ?? (await ada.svc.projects.create({ name: "shop" }))
  const key = await ada.svc.keys.create({
    name: "ci",
    type: "secret",
    scopes: ["kv:read"],
    project_id: projectId,
  })
  const kept = await ada.svc.account.exportData()
  assert.deepEqual(
    [kept.user.email, kept.user.mfa_enabled, kept.sessions.length, kept.factors.length],
    [ada.email, true, 1, 1],
  )
  assert.deepEqual(
    kept.organizations.map(({ id, role }) => [id, role]),
    [[ada.organizationId, "owner"]],
  )
  assert.ok(kept.keys.some(({ id }) => id === key.id))
  assert.equal(kept.networks.length, 1)
  assert.ok(kept.events.some(({ action, ip }) => action === "account.signup" && ip !== null))
  const text = JSON.stringify(kept)
  for (const foreign of [bob.email, bob.organizationId, ada.secret, String(key.secret), ...ada.recoveryCodes])
    assert.equal(text.includes(foreign), false, foreign)

  await p.clock.advance(16 * MINUTE)
  await refused(ada.svc.account.exportData(), "step_up_required")
})

test("an account is deleted once its person has no organization; nothing signs in to it any more, and its address is free", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  await stranger(p)
    .account.login({ email: ada.email, password: "a wrong battery" })
    .catch(() => undefined)
  const { message } = await refused(ada.svc.account.delete(), "conflict")
  assert.match(message, /an organization/)
  await ada.svc.organizations.delete({ org_id: ada.organizationId })

  await p.clock.advance(16 * MINUTE)
  await refused(ada.svc.account.delete(), "step_up_required")
  await ada.svc.account.reauthenticate({ password: PASSWORD, code: await ada.phone.code() })
  const { headers } = await ada.svc.request("account.delete", {})
  assert.match(headers.get("set-cookie") ?? "", /Max-Age=0/)

  await refused(ada.svc.account.get(), "session_expired")
  await refused(stranger(p).account.login({ email: ada.email, password: PASSWORD }), "invalid_credentials")
  for (const table of ["sessions", "account_factors", "account_recovery_codes", "login_sources"]) {
    const { rows } = await p.database.pool.query(`SELECT * FROM core.${table} WHERE user_id = $1`, [ada.id])
    assert.deepEqual(rows, [], table)
  }
  const again = await signUp(p, ada.email)
  assert.notEqual(again.id, ada.id)
  assert.equal((await (await signIn(p, ada.email)).svc.account.get()).mfa_enabled, false)
})

test("of a founding and a deletion at the same time, one comes first", async t => {
  const p = await platform(t)
  const ada = await signUp(p)
  await ada.svc.organizations.delete({ org_id: ada.organizationId })
  const done = await Promise.allSettled([
    ada.svc.organizations.create({ name: "late" }),
    ada.svc.account.delete(),
  ])
  const { rows } = await p.database.pool.query(
    "SELECT id FROM core.organizations organization WHERE name = 'late' AND NOT EXISTS (SELECT FROM core.members WHERE organization_id = organization.id)",
  )
  assert.deepEqual(rows, [], JSON.stringify(done))
})
