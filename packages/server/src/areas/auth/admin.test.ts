import assert from "node:assert/strict"
import { test } from "node:test"
import { everyScope, PASSWORD, platform } from "../../testing/platform.ts"
import { ADMIN, browserOf, newAddress, personOf, refusal, signUp, tokensOf } from "./testing/people.ts"

const HOUR = 3_600_000

test("the owner lists, searches, shows, changes and deletes users", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const made = await admin.auth.createUser({
    email: "Grace.Hopper@example.com",
    password: PASSWORD,
    email_confirmed: true,
    app_metadata: { plan: "gold" },
  })
  await signUp(p, "acme")
  await signUp(p, "globex")
  assert.equal((await admin.auth.listUsers({})).total, 2)
  const found = await admin.auth.listUsers({ email: "grace.h", limit: 1 })
  assert.deepEqual(
    found.data.map(({ id }) => id),
    [made.id],
  )
  assert.equal((await admin.auth.listUsers({ email: "%" })).total, 0)
  const changed = await admin.auth.manageUser({ id: made.id, app_metadata: { plan: null, seats: 3 } })
  assert.deepEqual(changed.app_metadata, { seats: 3 })
  assert.deepEqual((await admin.auth.showUser({ id: made.id })).app_metadata, { seats: 3 })
  const browser = await browserOf(p, "acme")
  const grace = personOf(p, await browser.auth.login({ email: made.email ?? "", password: PASSWORD }))
  await admin.auth.deleteUser({ id: made.id })
  assert.equal(await refusal(grace.own.auth.getUser()), "token_invalid")
  for (const gone of [
    () => admin.auth.showUser({ id: made.id }),
    () => admin.auth.deleteUser({ id: made.id }),
    () => admin.auth.manageUser({ id: made.id, email_confirmed: true }),
  ])
    assert.equal(await refusal(gone()), "resource_not_found")
})

test("a ban and a new password by the owner end sessions at once", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const { id, email } = ada
  await admin.auth.manageUser({ id, banned_until: new Date(p.clock.now() + HOUR).toISOString() })
  assert.equal(await refusal(ada.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: ada.refresh_token })),
    "refresh_token_invalid",
  )
  assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "user_banned")
  assert.equal(await refusal(browser.auth.login({ email, password: "wrong" })), "invalid_credentials")
  await p.clock.advance(HOUR)
  const again = personOf(p, await browser.auth.login({ email, password: PASSWORD }))
  // A session that a ban did not end, by a process that was away.
  await p.database.db
    .updateTable("auth.users")
    .set({ banned_until: new Date(p.clock.now() + HOUR) })
    .where("id", "=", id)
    .execute()
  assert.equal(await refusal(browser.auth.refresh({ refresh_token: again.refresh_token })), "user_banned")
  await admin.auth.manageUser({ id, banned_until: null, password: "another horse battery" })
  assert.equal(await refusal(again.own.auth.getUser()), "token_invalid")
  tokensOf(await browser.auth.login({ email, password: "another horse battery" }))
})

test("addresses are told apart within a project, and passwords and metadata have limits", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const ada = await signUp(p, "acme")
  const other = await admin.auth.createUser({ email: newAddress() })
  const big = { a: "x".repeat(20_000) }
  for (const [attempt, code] of [
    [() => admin.auth.createUser({ email: ada.email.toUpperCase() }), "conflict"],
    [() => admin.auth.createUser({ email: newAddress(), password: "short" }), "weak_password"],
    [() => admin.auth.createUser({ email: newAddress(), app_metadata: big }), "validation_failed"],
    [() => admin.auth.manageUser({ id: other.id, email: ada.email }), "conflict"],
    [() => admin.auth.manageUser({ id: other.id, password: "short" }), "weak_password"],
    [() => admin.auth.manageUser({ id: other.id, user_metadata: big }), "validation_failed"],
    [() => admin.auth.invite({ email: newAddress(), data: big }), "validation_failed"],
  ] as const)
    assert.equal(await refusal(attempt()), code)
  await (await p.client("globex", ...ADMIN)).auth.createUser({ email: ada.email })
})

test("settings are the owner's: by a key with admin:full, and by a session of the owner", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  assert.equal((await admin.auth.getSettings()).signup, "open")
  await admin.auth.putSettings({ name: "Shop", access_token_seconds: 60 })
  const settings = await admin.auth.getSettings()
  assert.deepEqual(
    [settings.name, settings.access_token_seconds, settings.confirm_email],
    ["Shop", 60, false],
  )
  const ada = await signUp(p, "acme")
  await p.clock.advance(60_000)
  assert.equal(await refusal(ada.own.auth.getUser()), "token_expired")
  const others = await p.client("acme", ...everyScope.filter(scope => scope !== "admin:full"))
  assert.equal(await refusal(others.auth.getSettings()), "missing_scope")
  assert.equal(await refusal(others.auth.listUsers({})), "missing_scope")
  const { projectId } = await p.tenant("acme")
  const headers = { ...(await p.session("acme")), "x-svc-project": projectId }
  assert.equal((await p.request("/v1/auth/settings", { headers })).status, 200)
  const member = { ...(await p.session("acme", "member")), "x-svc-project": projectId }
  assert.equal((await p.request("/v1/auth/settings", { headers: member })).status, 403)
})

test("in production mode addresses are confirmed unless the project says otherwise", async t => {
  const p = await platform(t, { env: { SVC_MODE: "production" } })
  const admin = await p.client("acme", ...ADMIN)
  assert.equal((await admin.auth.getSettings()).confirm_email, true)
})

test("with its project the users of an application go", async t => {
  const p = await platform(t)
  const ada = await signUp(p, "acme")
  const { projectId } = await p.tenant("acme")
  const person = await p.person("acme")
  await person.projects.delete({ id: projectId })
  assert.equal(await refusal(ada.own.auth.getUser()), "token_invalid")
  await p.clock.advance(2 * HOUR)
  const left = () =>
    p.database.db.selectFrom("auth.users").select("id").where("project_id", "=", projectId).execute()
  const { eventually } = await import("../../testing/eventually.ts")
  await eventually("the users are deleted", left, rows => rows.length === 0)
})
