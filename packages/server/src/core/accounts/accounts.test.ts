import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import { accountHash, ELSEWHERE } from "../credentials/failure-store.ts"
import { holdsWithin } from "../keys/testing/use.ts"
import { openSession } from "./service.ts"
import { newEmail, refused, signIn, signUp, stranger } from "./testing/people.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const SOON_MS = 60_000

const NEW_PASSWORD = "staple battery horse"

const tryPassword = (p: TestPlatform, email: string, password: string) =>
  stranger(p).account.login({ email, password })

const failTimes = async (p: TestPlatform, email: string, times: number) => {
  for (let time = 0; time < times; time++) {
    await refused(tryPassword(p, email, "a wrong password"), "invalid_credentials")
  }
}

test("signing up gives a person an organization of their own with a project to work in", async t => {
  const p = await platform(t)
  const email = newEmail()
  const { svc } = await signUp(p, email)

  assert.equal((await svc.account.get()).email, email)
  const organizations = await svc.organizations.list()
  assert.deepEqual(
    organizations.data.map(({ plan, role }) => ({ plan, role })),
    [{ plan: "free", role: "owner" }],
  )
  const projects = await svc.projects.list()
  assert.deepEqual(
    projects.data.map(({ name, organization_id }) => ({ name, organization_id })),
    [{ name: "default", organization_id: organizations.data[0]?.id }],
  )
  assert.notEqual(projects.data[0]?.publishable_key_id, null)
})

test("an installation whose sign-up is closed takes in the invited, and nobody else", async t => {
  const p = await platform(t, { env: { SVC_SIGNUP: "closed" } })
  const { organizationId: org_id } = await p.tenant("acme")
  const owner = await p.person("acme")
  const email = newEmail()
  const { token: invitation_token } = await owner.organizations.invite({ org_id, email, role: "member" })
  const signUpWith = (input: { email: string; invitation_token?: string | undefined }) =>
    stranger(p).account.signup({ password: PASSWORD, ...(input as { email: string }) })

  await refused(signUpWith({ email }), "signup_disabled")
  await refused(signUpWith({ email: newEmail(), invitation_token }), "invitation_not_found")
  await signUpWith({ email, invitation_token })
  await signIn(p, email)
})

test("an e-mail address has one account, however it is spelled, and a refused sign-up leaves nothing behind", async t => {
  const p = await platform(t)
  const { email } = await signUp(p)
  const count = () => p.database.db.selectFrom("core.organizations").select("id").execute()
  const before = await count()

  await refused(stranger(p).account.signup({ email: email.toUpperCase(), password: PASSWORD }), "conflict")

  assert.equal((await count()).length, before.length)
  await signIn(p, email.toUpperCase())
})

test("a weak password is refused at sign-up and at a change", async t => {
  const p = await platform(t)
  const email = newEmail()
  await refused(stranger(p).account.signup({ email, password: "password123" }), "weak_password")
  await refused(stranger(p).account.signup({ email, password: email }), "weak_password")

  const { svc } = await signUp(p, email)
  await refused(svc.account.update({ password: "1234567", current_password: PASSWORD }), "weak_password")
})

test("a wrong password and an unknown address are refused in the same words", async t => {
  const p = await platform(t)
  const { email } = await signUp(p)
  const answer = async (address: string) => {
    const error = await refused(tryPassword(p, address, "a wrong password"), "invalid_credentials")
    return { status: error.status, message: error.message, retryAfter: error.retryAfter }
  }

  assert.deepEqual(await answer(email), await answer("nobody@example.com"))
})

test("ten failures in a row lock their place for a minute, and each further one for twice as long", async t => {
  const p = await platform(t)
  const { email } = await signUp(p)
  await failTimes(p, email, 10)

  const first = await refused(tryPassword(p, email, PASSWORD), "account_locked")
  assert.equal(first.retryAfter, 60)
  await p.clock.advance(MINUTE_MS)
  await failTimes(p, email, 1)
  const second = await refused(tryPassword(p, email, PASSWORD), "account_locked")
  assert.equal(second.retryAfter, 120)
  await p.clock.advance(2 * MINUTE_MS)
  await signIn(p, email)
  await failTimes(p, email, 9)
  await signIn(p, email)
})

test("an address without an account is locked like one that has one, in the same words", async t => {
  const p = await platform(t)
  const { email } = await signUp(p)
  const answers = async (address: string) => {
    await failTimes(p, address, 10)
    const error = await refused(tryPassword(p, address, PASSWORD), "account_locked")
    return { status: error.status, message: error.message, retryAfter: error.retryAfter }
  }
  assert.deepEqual(await answers(newEmail().toUpperCase()), await answers(email))
})

/** A platform behind a proxy that tells where callers are. */
const behindProxy = (t: TestContext) => platform(t, { env: { SVC_TRUSTED_PROXIES: "127.0.0.0/8,::1/128" } })

const loginFrom = async (p: TestPlatform, ip: string, email: string, password: string) => {
  const response = await p.request("/v1/account/login", {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": ip },
    body: JSON.stringify({ email, password }),
  })
  const { code = "in" } = (await response.json()) as { code?: string }
  return code
}

test("guesses from elsewhere do not lock the owner out, and a hundred from many places lock all unknown ones", async t => {
  const p = await behindProxy(t)
  const { email } = await signUp(p)
  const { email: known } = await signUp(p)
  const HOME = "192.0.2.1"
  assert.equal(await loginFrom(p, HOME, email, PASSWORD), "in")
  for (let guess = 0; guess < 10; guess++)
    assert.equal(await loginFrom(p, "198.51.100.1", email, "a wrong password"), "invalid_credentials")
  assert.equal(await loginFrom(p, "198.51.100.1", email, PASSWORD), "account_locked")
  assert.equal(await loginFrom(p, HOME, email, PASSWORD), "in")

  assert.equal(await loginFrom(p, HOME, known, PASSWORD), "in")
  /** 99 places have guessed; one more does. */
  const guessAt = async (address: string) => {
    const place = { account: accountHash(address), source: ELSEWHERE }
    const count = { failures: 99, locked_until: null, updated_at: new Date(p.clock.now()) }
    await p.database.db
      .insertInto("core.login_failures")
      .values({ ...place, ...count })
      .onConflict(known => known.columns(["account", "source"]).doUpdateSet(count))
      .execute()
    assert.equal(await loginFrom(p, "203.0.113.1", address, "a wrong password"), "invalid_credentials")
    return await loginFrom(p, "198.51.100.2", address, PASSWORD)
  }
  const nobody = newEmail()
  assert.deepEqual([await guessAt(known), await guessAt(nobody)], ["account_locked", "account_locked"])
  // Where the person has signed in from, the password still proves who it is; one IPv6 /64 is one place.
  assert.equal(await loginFrom(p, HOME, known, PASSWORD), "in")
  for (const address of [known, nobody])
    assert.equal(await loginFrom(p, "2001:db8::1", address, PASSWORD), "account_locked")
  await p.clock.advance(MINUTE_MS)
  assert.equal(await loginFrom(p, "2001:db8::1", known, PASSWORD), "in")
  assert.equal(await loginFrom(p, "2001:db8::1", nobody, PASSWORD), "invalid_credentials")
})

test("guesses sent at once cannot outrun the count", async t => {
  const p = await platform(t)
  const { email } = await signUp(p)

  for (const address of [email, newEmail()]) {
    const guesses = Array.from({ length: 30 }, () => tryPassword(p, address, "a wrong password"))
    const answers = await Promise.allSettled(guesses)

    const codes = answers.map(answer => (answer.status === "rejected" ? answer.reason.code : "in"))
    assert.equal(codes.filter(code => code === "invalid_credentials").length, 10)
    assert.equal(codes.filter(code => code === "account_locked").length, 20)
  }
})

test("guesses at the password of a signed-in person count like those at sign-in", async t => {
  const p = await platform(t)
  const { svc, email } = await signUp(p)
  await failTimes(p, email, 8)
  await refused(svc.account.reauthenticate({ password: "a wrong password" }), "invalid_credentials")
  const change = { password: NEW_PASSWORD, current_password: "a wrong password" }
  await refused(svc.account.update(change), "invalid_credentials")

  await refused(svc.account.reauthenticate({ password: PASSWORD }), "account_locked")
  await refused(svc.account.update({ ...change, current_password: PASSWORD }), "account_locked")
  await refused(tryPassword(p, email, PASSWORD), "account_locked")
})

test("failures a day apart are not in a row, and are forgotten", async t => {
  const p = await platform(t)
  const nobody = newEmail()
  await failTimes(p, nobody, 9)
  await p.clock.advance(25 * HOUR_MS)
  await holdsWithin(SOON_MS, async () => {
    const rows = await p.database.db.selectFrom("core.login_failures").select("source").execute()
    return rows.length === 0
  })
  await failTimes(p, nobody, 10)
})

test("a session ends when it is left alone for 12 hours", async t => {
  const p = await platform(t)
  const { svc } = await signUp(p)
  await p.clock.advance(11 * HOUR_MS)
  await svc.account.get()
  await p.clock.advance(11 * HOUR_MS)
  await svc.account.get()
  await p.clock.advance(12 * HOUR_MS)

  await refused(svc.account.get(), "session_expired")
})

test("a session ends after 30 days, however busy it was", async t => {
  const p = await platform(t)
  const { svc } = await signUp(p)
  for (let half = 0; half < 59; half++) {
    await p.clock.advance(DAY_MS / 2 - 1)
    await svc.account.get()
  }
  await p.clock.advance(DAY_MS / 2)

  await refused(svc.account.get(), "session_expired")
})

test("signing out ends the session itself and not only its cookie", async t => {
  const p = await platform(t)
  const { svc } = await signUp(p)

  const { headers } = await svc.request("account.logout")

  assert.match(headers.get("set-cookie") ?? "", /^svc_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/)
  await refused(svc.account.get(), "session_expired")
})

test("the session cookie is out of reach of scripts and foreign pages, and of plain HTTP where there is HTTPS", async t => {
  const plain = await platform(t)
  const { setCookie } = await signUp(plain)
  assert.match(
    setCookie,
    /^svc_session=svc_sess_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
  )

  const secure = await platform(t, { env: { SVC_BASE_URL: "https://cloud.example.com" } })
  const { headers } = await stranger(secure).request("account.signup", {
    email: newEmail(),
    password: PASSWORD,
  })
  assert.match(
    headers.get("set-cookie") ?? "",
    /^__Host-svc_session=svc_sess_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  )
})

test("the token of a session is not in the database", async t => {
  const p = await platform(t)
  const { setCookie } = await signUp(p)
  const token = setCookie.split(/[=;]/)[1] as string

  const rows = await p.database.db.selectFrom("core.sessions").selectAll().execute()

  const kept = rows.map(row => JSON.stringify({ ...row, token_hash: row.token_hash.toString("latin1") }))
  assert.ok(kept.every(row => !row.includes(token.slice("svc_sess_".length))))
})

test("a change of password takes the old one, and ends every other session", async t => {
  const p = await platform(t)
  const { svc, email } = await signUp(p)
  const elsewhere = await signIn(p, email)
  await refused(svc.account.update({ password: NEW_PASSWORD }), "missing_parameter")
  const wrong = { password: NEW_PASSWORD, current_password: "a wrong password" }
  await refused(svc.account.update(wrong), "invalid_credentials")
  await elsewhere.svc.account.get()

  await svc.account.update({ password: NEW_PASSWORD, current_password: PASSWORD })

  await svc.account.get()
  await refused(elsewhere.svc.account.get(), "session_expired")
  await refused(tryPassword(p, email, PASSWORD), "invalid_credentials")
  await signIn(p, email, NEW_PASSWORD)
})

test("a change of name leaves the password and the sessions alone", async t => {
  const p = await platform(t)
  const { svc, email } = await signUp(p)
  const elsewhere = await signIn(p, email)

  assert.equal((await svc.account.update({ name: "Ada L." })).name, "Ada L.")

  assert.equal((await elsewhere.svc.account.get()).name, "Ada L.")
  await signIn(p, email)
})

test("a person sees and ends their own sessions and nobody else's", async t => {
  const p = await platform(t)
  const ada = await signUp(p)
  const elsewhere = await signIn(p, ada.email)
  const grace = await signUp(p)
  const { sessions } = await ada.svc.account.listSessions()
  assert.deepEqual(sessions.map(({ current }) => current).sort(), [false, true])
  const other = sessions.find(({ current }) => !current)?.id ?? ""

  await refused(grace.svc.account.endSession({ id: other }), "resource_not_found")
  await ada.svc.account.endSession({ id: other })

  await refused(elsewhere.svc.account.get(), "session_expired")
  await refused(ada.svc.account.endSession({ id: other }), "resource_not_found")
  await ada.svc.account.get()
})

test("past fifty sessions of one person the one left alone longest ends", async t => {
  const p = await platform(t)
  const { svc, id } = await signUp(p)
  for (let more = 1; more <= 50; more++) {
    const now = new Date(p.clock.now() + more)
    await openSession(p.database.db, { userId: id, ip: "192.0.2.1", userAgent: null, now })
  }

  await refused(svc.account.get(), "session_expired")
})

test("a session acts in the organization that is named, else in that of the project, else in the first joined", async t => {
  const p = await platform(t)
  const ada = await signUp(p)
  await p.clock.advance(1000)
  const { id: second } = await ada.svc.organizations.create({ name: "Second" })
  const projects = async (headers: Record<string, string>) =>
    (await ada.with(headers).projects.list()).data.map(({ organization_id }) => organization_id)

  assert.deepEqual(await projects({}), [ada.organizationId])
  assert.deepEqual(await projects({ "x-svc-organization": second }), [second])
  const project = (await ada.with({ "x-svc-organization": second }).projects.list()).data[0]?.id ?? ""
  assert.deepEqual(await projects({ "x-svc-project": project }), [second])
})

test("naming an organization one does not belong to is refused, whether it exists or not", async t => {
  const p = await platform(t)
  const ada = await signUp(p)
  const grace = await signUp(p)
  const named = [grace.organizationId, "00000000-0000-7000-8000-000000000000", "nonsense"]

  for (const organization of named) {
    await refused(ada.with({ "x-svc-organization": organization }).projects.list(), "tenant_mismatch")
  }
})

test("sign-ins and failed sign-ins are in the person's own audit chain", async t => {
  const p = await platform(t)
  const { id, email } = await signUp(p)
  await failTimes(p, email, 1)
  await signIn(p, email)

  // A failure is recorded after it is answered.
  const read = () =>
    p.database.db
      .selectFrom("core.audit_events")
      .select(["action", "outcome"])
      .where("tenant_id", "=", id)
      .execute()
  await holdsWithin(SOON_MS, async () => (await read()).length === 3)
  const entries = await read()
  assert.deepEqual(entries.map(({ action, outcome }) => `${action} ${outcome}`).sort(), [
    "account.signup success",
    "auth_login success",
    "auth_login_failed failure",
  ])
})
