import assert from "node:assert/strict"
import { test } from "node:test"
import { PASSWORD, platform } from "../../testing/platform.ts"
import { ADMIN, browserOf, newAddress, personOf, refusal, signUp, tokensOf } from "./testing/people.ts"

const SECOND = 1000
const DAY = 24 * 3_600 * SECOND

test("a user signs up, signs in, is shown, and signs out", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const { projectId } = await p.tenant("acme")
  const email = newAddress()
  const signedUp = tokensOf(await browser.auth.signup({ email, password: PASSWORD, data: { theme: "dark" } }))
  assert.equal(signedUp.user.email, email)
  assert.equal(signedUp.user.aud, projectId)
  assert.deepEqual(signedUp.user.user_metadata, { theme: "dark" })
  assert.match(signedUp.refresh_token, /^svc_urt_/)

  const ada = personOf(p, await browser.auth.login({ email: email.toUpperCase(), password: PASSWORD }))
  assert.equal(ada.id, signedUp.user.id)
  assert.equal((await ada.own.auth.getUser()).email, email)
  const { sessions } = await ada.own.auth.listSessions()
  assert.deepEqual(sessions.map(({ current }) => current).sort(), [false, true])

  await ada.own.auth.logout({})
  assert.equal(await refusal(ada.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: ada.refresh_token })),
    "refresh_token_invalid",
  )
  assert.equal((await p.as(signedUp.access_token).auth.getUser()).email, email)
})

test("sessions end alone, all others, or all together, and only one's own", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const bob = await signUp(p, "acme")
  const again = async () => personOf(p, await browser.auth.login({ email: ada.email, password: PASSWORD }))
  const [second, third] = [await again(), await again()]
  const { sessions } = await ada.own.auth.listSessions()
  const other = sessions.find(({ current }) => !current)?.id ?? ""
  assert.equal(await refusal(bob.own.auth.revokeSession({ id: other })), "resource_not_found")
  await ada.own.auth.revokeSession({ id: other })
  assert.equal((await ada.own.auth.listSessions()).sessions.length, 2)
  await ada.own.auth.logout({ scope: "others" })
  for (const ended of [second, third]) assert.equal(await refusal(ended.own.auth.getUser()), "token_invalid")
  const fourth = await again()
  await ada.own.auth.logout({ scope: "global" })
  assert.equal(await refusal(fourth.own.auth.getUser()), "token_invalid")
  assert.equal((await bob.own.auth.getUser()).email, bob.email)
})

test("a wrong password, an address without a user, and one without a password get the same answer", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  const ada = await signUp(p, "acme")
  const passwordless = newAddress()
  await admin.auth.createUser({ email: passwordless })
  const said = async (email: string) => {
    const error = await browser.auth.login({ email, password: "wrong horse battery" }).then(
      () => assert.fail("it let somebody in"),
      (reason: { status: number; code: string; message: string }) => reason,
    )
    return [error.status, error.code, error.message]
  }
  const wrong = await said(ada.email)
  assert.deepEqual(wrong.slice(0, 2), [401, "invalid_credentials"])
  assert.deepEqual(await said(newAddress()), wrong)
  assert.deepEqual(await said(passwordless), wrong)
})

test("the eleventh wrong password is not checked any more, whether or not there is a user", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  for (const email of [ada.email, newAddress()]) {
    for (let at = 0; at < 10; at++)
      assert.equal(await refusal(browser.auth.login({ email, password: `${at}` })), "invalid_credentials")
    assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "account_locked")
  }
  const elsewhere = await browserOf(p, "globex")
  assert.equal(
    await refusal(elsewhere.auth.login({ email: ada.email, password: "x" })),
    "invalid_credentials",
  )
})

test("a refresh token works once, for tabs of one moment too, and its reuse ends the session", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const [one, other] = await Promise.all([
    browser.auth.refresh({ refresh_token: ada.refresh_token }),
    browser.auth.refresh({ refresh_token: ada.refresh_token }),
  ])
  assert.equal(one.refresh_token, other.refresh_token)
  assert.notEqual(one.refresh_token, ada.refresh_token)
  await p.clock.advance(10 * SECOND + 1)
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: ada.refresh_token })),
    "refresh_token_reused",
  )
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: one.refresh_token })),
    "refresh_token_invalid",
  )
  assert.equal(await refusal(ada.own.auth.getUser()), "token_invalid")
  for (const made of ["svc_urt_", "svc_sk_x", `${one.refresh_token}A`])
    assert.equal(await refusal(browser.auth.refresh({ refresh_token: made })), "refresh_token_invalid")
})

test("a session ends after thirty idle days, and after ninety whatever is done in it", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const idle = await signUp(p, "acme")
  const busy = await signUp(p, "acme")
  let token = busy.refresh_token
  for (let day = 0; day < 80; day += 20) {
    await p.clock.advance(20 * DAY)
    token = (await browser.auth.refresh({ refresh_token: token })).refresh_token
  }
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: idle.refresh_token })),
    "refresh_token_invalid",
  )
  await p.clock.advance(10 * DAY + SECOND)
  assert.equal(await refusal(browser.auth.refresh({ refresh_token: token })), "refresh_token_invalid")
})

test("users, sessions and tokens of one project are nobody in another", async t => {
  const p = await platform(t)
  const ada = await signUp(p, "acme")
  const other = await browserOf(p, "globex")
  assert.equal(
    await refusal(other.auth.login({ email: ada.email, password: PASSWORD })),
    "invalid_credentials",
  )
  assert.equal(
    await refusal(other.auth.refresh({ refresh_token: ada.refresh_token })),
    "refresh_token_invalid",
  )
  const { publishableKey } = await p.tenant("globex")
  const beside = (apikey: string) =>
    p.request("/v1/auth/user", { headers: { authorization: `Bearer ${ada.access_token}`, apikey } })
  assert.equal((await beside(publishableKey)).status, 401)
  assert.equal((await beside((await p.tenant("acme")).publishableKey)).status, 200)
})

test("the publishable key is taken from the header apikey too", async t => {
  const p = await platform(t)
  const { publishableKey } = await p.tenant("acme")
  const ada = await signUp(p, "acme")
  const response = await p.request("/v1/auth/login", {
    method: "POST",
    headers: { apikey: publishableKey, "content-type": "application/json", authorization: "Bearer eyJ.e.e" },
    body: JSON.stringify({ email: ada.email, password: PASSWORD }),
  })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get("access-control-allow-origin"), "*")
})

test("a user changes metadata alone, and the password with the present one, which ends other sessions", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const other = personOf(p, await browser.auth.login({ email: ada.email, password: PASSWORD }))
  await Promise.all([
    ada.own.auth.updateUser({ data: { theme: "dark" } }),
    ada.own.auth.updateUser({ data: { size: 2, gone: null } }),
  ])
  assert.deepEqual((await ada.own.auth.getUser()).user_metadata, { theme: "dark", size: 2 })
  assert.equal(
    await refusal(ada.own.auth.updateUser({ data: { a: "x".repeat(20_000) } })),
    "validation_failed",
  )

  const password = "another horse battery"
  assert.equal(await refusal(ada.own.auth.updateUser({ password })), "missing_parameter")
  assert.equal(
    await refusal(ada.own.auth.updateUser({ password, current_password: "wrong" })),
    "invalid_credentials",
  )
  await ada.own.auth.updateUser({ password, current_password: PASSWORD })
  assert.equal((await ada.own.auth.getUser()).email, ada.email)
  assert.equal(await refusal(other.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.login({ email: ada.email, password: PASSWORD })),
    "invalid_credentials",
  )
  tokensOf(await browser.auth.login({ email: ada.email, password }))
})

test("wrong present passwords are counted as those of a sign-in", async t => {
  const p = await platform(t)
  const ada = await signUp(p, "acme")
  const guess = () =>
    ada.own.auth.updateUser({ password: "another horse battery", current_password: "wrong" })
  for (let at = 0; at < 10; at++) assert.equal(await refusal(guess()), "invalid_credentials")
  assert.equal(await refusal(guess()), "account_locked")
})

test("sign-up is refused where it is closed, for weak passwords and for addresses that are taken", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  const ada = await signUp(p, "acme")
  assert.equal(await refusal(browser.auth.signup({ email: ada.email, password: PASSWORD })), "conflict")
  assert.equal(
    await refusal(browser.auth.signup({ email: newAddress(), password: "short" })),
    "weak_password",
  )
  await admin.auth.putSettings({ password_length_min: 15 })
  assert.equal(
    await refusal(browser.auth.signup({ email: newAddress(), password: "fourteen chars" })),
    "weak_password",
  )
  for (const signup of ["closed", "invitation"] as const) {
    await admin.auth.putSettings({ signup })
    assert.equal(
      await refusal(browser.auth.signup({ email: newAddress(), password: PASSWORD })),
      "signup_disabled",
    )
  }
})

test("sign-up, sign-in and mails that anybody asks for are three a minute from one address", async t => {
  const p = await platform(t, { env: { SVC_AUTH_RATE_LIMIT: "on" } })
  const browser = await browserOf(p, "acme")
  const email = newAddress()
  for (const call of [
    () => browser.auth.login({ email, password: "x" }),
    () => browser.auth.signup({ email, password: "short" }),
    () => browser.auth.resetPassword({ email: newAddress() }),
    () => browser.auth.magicLink({ email: newAddress() }),
    () => browser.auth.otp({ email: newAddress() }),
    () => browser.auth.resend({ type: "signup", email: newAddress() }),
  ]) {
    for (let at = 0; at < 3; at++) assert.notEqual(await refusal(call()), "auth_rate_limited")
    assert.equal(await refusal(call()), "auth_rate_limited")
  }
})
