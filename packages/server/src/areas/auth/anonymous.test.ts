import assert from "node:assert/strict"
import { test } from "node:test"
import { decodeJwt } from "jose"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import { ADMIN, browserOf, lastMail, newAddress, refusal, signUp, tokensOf } from "./testing/people.ts"

const DAY = 86_400_000

const allowing = async (p: TestPlatform, settings = {}) => {
  const admin = await p.client("acme", ...ADMIN)
  await admin.auth.putSettings({ anonymous: true, ...settings })
  return { admin, browser: await browserOf(p, "acme") }
}

test("nobody signs in without an address unless the project allows it and is open", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  assert.equal(await refusal(browser.auth.anonymous({})), "signup_disabled")
  await allowing(p, { signup: "invitation" })
  assert.equal(await refusal(browser.auth.anonymous({})), "signup_disabled")
})

test("an anonymous user who links an address stays the same user, and signs in with it", async t => {
  const p = await platform(t)
  const { browser, admin } = await allowing(p)
  assert.equal(
    await refusal(browser.auth.anonymous({ data: { cart: "x".repeat(20_000) } })),
    "validation_failed",
  )
  const reply = await browser.auth.anonymous({ data: { cart: "7K2MQ" } })
  const { sub, is_anonymous, email: claimed, amr } = decodeJwt(reply.access_token)
  assert.deepEqual([sub, is_anonymous, claimed, amr], [reply.user.id, true, undefined, ["anonymous"]])
  const own = p.as(reply.access_token)
  assert.equal((await own.auth.getUser()).email, null)
  assert.equal((await admin.auth.listUsers()).data[0]?.is_anonymous, true)
  assert.equal((await own.auth.enroll({ friendly_name: "phone" })).friendly_name, "phone")

  const taken = await signUp(p, "acme")
  const link = (email: string) => own.auth.linkAddress({ email, password: PASSWORD })
  assert.equal(await refusal(link(taken.email)), "conflict")
  assert.equal((await own.auth.getUser()).is_anonymous, true)
  const email = newAddress()
  assert.equal(
    await refusal(own.auth.linkAddress({ email, redirect_to: "https://evil.example" })),
    "redirect_not_allowed",
  )
  assert.equal(await refusal(own.auth.linkAddress({ email, password: "short" })), "weak_password")
  await admin.auth.putSettings({ anonymous: true, signup: "closed" })
  assert.equal(await refusal(link(email)), "signup_disabled")
  await admin.auth.putSettings({ anonymous: true })
  const linked = await link(email)
  assert.deepEqual([linked.id, linked.email, linked.is_anonymous], [reply.user.id, email, false])
  assert.deepEqual(linked.user_metadata, { cart: "7K2MQ" })
  assert.equal(await refusal(link(newAddress())), "conflict")
  const after = tokensOf(await browser.auth.login({ email, password: PASSWORD }))
  assert.equal(after.user.id, reply.user.id)
  assert.equal(decodeJwt(after.access_token).is_anonymous, false)
})

test("with confirmation the address holds once its owner followed the link, and a taken one is answered the same", async t => {
  const p = await platform(t)
  const taken = await signUp(p, "acme")
  const { browser } = await allowing(p, { confirm_email: true })
  const reply = await browser.auth.anonymous({})
  const own = p.as(reply.access_token)
  assert.equal((await own.auth.linkAddress({ email: taken.email })).email, null)
  const email = newAddress()
  assert.equal((await own.auth.linkAddress({ email, password: PASSWORD })).email, null)
  assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "invalid_credentials")
  const { token } = await lastMail(p, "acme", email)
  const verified = tokensOf(await browser.auth.verify({ type: "email_change", token }))
  const { user } = verified
  assert.deepEqual([user.id, user.email, user.is_anonymous], [reply.user.id, email, false])
  assert.ok(user.email_confirmed_at)
  assert.equal((await own.auth.getUser()).email, email)
  tokensOf(await browser.auth.login({ email, password: PASSWORD }))
})

test("who links somebody else's address loses the user when that person confirms it", async t => {
  const p = await platform(t)
  const { browser } = await allowing(p, { confirm_email: true })
  const reply = await browser.auth.anonymous({})
  const attacker = p.as(reply.access_token)
  const email = newAddress()
  await attacker.auth.linkAddress({ email, password: "the attacker's own" })
  const { token } = await lastMail(p, "acme", email)
  // The victim opens the link in another network.
  await p.database.db
    .updateTable("auth.users")
    .set({ signup_source: "203.0.113.7" })
    .where("id", "=", reply.user.id)
    .execute()
  tokensOf(await browser.auth.verify({ type: "email_change", token }))
  assert.equal(await refusal(attacker.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: reply.refresh_token })),
    "refresh_token_invalid",
  )
  assert.equal(
    await refusal(browser.auth.login({ email, password: "the attacker's own" })),
    "invalid_credentials",
  )
})

test("anonymous users that nothing can sign in any more are deleted, and no others", async t => {
  const p = await platform(t)
  const { browser, admin } = await allowing(p, { session_idle_seconds: 60 * 86_400 })
  const left = await browser.auth.anonymous({})
  const kept = await browser.auth.anonymous({})
  await p.as(left.access_token).auth.logout({})
  await p.clock.advance(31 * DAY)
  const { data } = await admin.auth.listUsers()
  assert.deepEqual(
    data.map(({ id }) => id),
    [kept.user.id],
  )
})
