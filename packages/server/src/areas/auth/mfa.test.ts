import assert from "node:assert/strict"
import { test } from "node:test"
import { fromBase32, phoneOf } from "../../core/credentials/testing/phone.ts"
import { totpCode, totpStep } from "../../core/credentials/totp.ts"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import {
  ADMIN,
  browserOf,
  lastMail,
  newAddress,
  type Person,
  personOf,
  refusal,
  signUp,
  tokensOf,
  waitingOf,
} from "./testing/people.ts"

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A user with a phone, in a session with both factors. */
const withPhone = async (p: TestPlatform, tenant = "acme") => {
  const ada = await signUp(p, tenant)
  const enrolled = await ada.own.auth.enroll({ friendly_name: "phone" })
  const phone = { factorId: enrolled.factor_id, ...phoneOf(p, enrolled.totp.secret) }
  const reply = await ada.own.auth.verifyFactor({ factor_id: phone.factorId, code: await phone.code() })
  return { ada: personOf(p, reply), phone, enrolled, reply }
}

const signIn = async (p: TestPlatform, { email }: Person) =>
  waitingOf(await (await browserOf(p, "acme")).auth.login({ email, password: PASSWORD }))

test("a phone is enrolled, verified, and asked for at the next sign-in", async t => {
  const p = await platform(t)
  const { ada, phone, enrolled, reply } = await withPhone(p)
  assert.equal(enrolled.factor_type, "totp")
  assert.match(enrolled.totp.uri, /^otpauth:\/\/totp\//)
  assert.match(enrolled.totp.qr_code, /^data:image\/png;base64,/)
  assert.equal(reply.status, "verified")
  const [session] = (await ada.own.auth.listSessions()).sessions
  assert.equal(session?.level, "aal2")

  const waiting = await signIn(p, ada)
  assert.deepEqual(waiting.factors, [{ id: phone.factorId, type: "totp", friendly_name: "phone" }])
  const done = await p
    .as("")
    .auth.challenge({ factor_id: phone.factorId, code: await phone.code(), mfa_token: waiting.mfa_token })
  assert.equal((await personOf(p, done).own.auth.getUser()).id, ada.id)
  const { factors } = await ada.own.auth.listFactors()
  assert.deepEqual(
    factors.map(({ status }) => status),
    ["verified"],
  )
})

test("without its token a sign-in is completed from the network that began it", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  await signIn(p, ada)
  const code = await phone.code()
  tokensOf(await p.as("").auth.challenge({ factor_id: phone.factorId, code }))
  // It is used up.
  const next = await phone.code()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code: next })),
    "mfa_challenge_failed",
  )
  await signIn(p, ada)
  await p.database.db.updateTable("auth.waiting").set({ source: "203.0.113.7" }).execute()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code: await phone.code() })),
    "mfa_challenge_failed",
  )
})

test("a code alone signs nobody in: no password, no sign-in that waits", async t => {
  const p = await platform(t)
  const { phone } = await withPhone(p)
  const code = await phone.code()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code })),
    "mfa_challenge_failed",
  )
})

test("a code works once: not again, and of requests at the same time for one", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  const sign = async () => (await signIn(p, ada)).mfa_token
  const tokens = [await sign(), await sign(), await sign()]
  const code = await phone.code()
  const answers = await Promise.all(
    tokens.map(mfa_token => refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code, mfa_token }))),
  )
  assert.deepEqual(answers.sort(), ["mfa_challenge_failed", "mfa_challenge_failed", "none"])
  const mfa_token = await sign()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code, mfa_token })),
    "mfa_challenge_failed",
  )
  // Nor one of an earlier step.
  const earlier = totpCode(phone.secret, totpStep(p.clock.now()) - 1)
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code: earlier, mfa_token })),
    "mfa_challenge_failed",
  )
})

test("a sign-in waits five minutes for its code", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  const { mfa_token } = await signIn(p, ada)
  await p.clock.advance(5 * MINUTE)
  const code = await phone.code()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code, mfa_token })),
    "mfa_challenge_expired",
  )
  assert.equal(
    await refusal(p.as("").auth.useRecoveryCode({ code: "AAAAA-AAAAA", mfa_token })),
    "mfa_challenge_expired",
  )
})

test("five wrong codes close all ways by a code for a minute, the right code too", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  const { mfa_token } = await signIn(p, ada)
  const challenge = (code: string) =>
    refusal(p.as("").auth.challenge({ factor_id: phone.factorId, code, mfa_token }))
  for (let at = 0; at < 5; at++) assert.equal(await challenge("wrong"), "mfa_challenge_failed")
  const right = totpCode(phone.secret, totpStep(p.clock.now()) + 1)
  assert.equal(await challenge(right), "mfa_attempts_exceeded")
  assert.equal(
    await refusal(p.as("").auth.useRecoveryCode({ code: "AAAAA-AAAAA", mfa_token })),
    "mfa_attempts_exceeded",
  )
  assert.equal(
    await refusal(ada.own.auth.verifyFactor({ factor_id: phone.factorId, code: right })),
    "mfa_attempts_exceeded",
  )
  assert.equal(await challenge(await phone.code()), "none")
})

test("a factor of another user completes nobody's sign-in, and is neither seen nor deleted", async t => {
  const p = await platform(t)
  const { ada } = await withPhone(p)
  const bob = await withPhone(p)
  const { mfa_token } = await signIn(p, ada)
  const code = await bob.phone.code()
  assert.equal(
    await refusal(p.as("").auth.challenge({ factor_id: bob.phone.factorId, code, mfa_token })),
    "mfa_challenge_failed",
  )
  assert.equal(await refusal(ada.own.auth.deleteFactor({ id: bob.phone.factorId })), "factor_not_found")
  assert.equal(
    await refusal(ada.own.auth.verifyFactor({ factor_id: bob.phone.factorId, code })),
    "mfa_challenge_failed",
  )
})

test("a recovery code completes one sign-in, and only its owner's", async t => {
  const p = await platform(t)
  const { ada } = await withPhone(p)
  const first = (await ada.own.auth.createRecoveryCodes()).codes
  assert.equal(first.length, 10)
  const { codes } = await ada.own.auth.createRecoveryCodes()
  const use = async (code = "", who = ada) => {
    const { mfa_token } = await signIn(p, who)
    return await refusal(p.as("").auth.useRecoveryCode({ code: code.toLowerCase(), mfa_token }))
  }
  assert.equal(await use(first[0]), "mfa_challenge_failed")
  assert.equal(await use(codes[0]), "none")
  assert.equal(await use(codes[0]), "mfa_challenge_failed")
  const bob = await withPhone(p)
  assert.equal(await use(codes[1], bob.ada), "mfa_challenge_failed")
})

test("a session without the second factor neither adds, replaces nor removes one", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  // A session from before the factor; those end, so this one is made so.
  await p.database.db.updateTable("auth.sessions").set({ level: "aal1" }).execute()
  await ada.own.auth.logout({ scope: "others" })
  for (const attempt of [
    () => ada.own.auth.enroll({ friendly_name: "stranger's" }),
    () => ada.own.auth.deleteFactor({ id: phone.factorId }),
    () => ada.own.auth.createRecoveryCodes(),
  ])
    assert.equal(await refusal(attempt()), "mfa_challenge_failed")
})

test("verifying a factor ends the user's other sessions", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const other = personOf(p, await browser.auth.login({ email: ada.email, password: PASSWORD }))
  const { factor_id, totp } = await ada.own.auth.enroll({ friendly_name: "phone" })
  const phone = phoneOf(p, totp.secret)
  await ada.own.auth.verifyFactor({ factor_id, code: await phone.code() })
  assert.equal(await refusal(other.own.auth.getUser()), "token_invalid")
})

test("names of factors are told apart, an unfinished enrollment is begun anew, and there are ten at most", async t => {
  const p = await platform(t)
  const { ada } = await withPhone(p)
  assert.equal(await refusal(ada.own.auth.enroll({ friendly_name: "phone" })), "factor_name_taken")
  const first = await ada.own.auth.enroll({ friendly_name: "tablet" })
  const second = await ada.own.auth.enroll({ friendly_name: "tablet" })
  assert.notEqual(first.factor_id, second.factor_id)
  for (let at = 2; at < 10; at++) await ada.own.auth.enroll({ friendly_name: `phone ${at}` })
  assert.equal(await refusal(ada.own.auth.enroll({ friendly_name: "one more" })), "invalid_parameter")
  await p.clock.advance(DAY + 60 * MINUTE)
  const again = (await browserOf(p, "acme")).auth.login({ email: ada.email, password: PASSWORD })
  assert.equal(waitingOf(await again).factors.length, 1)
})

test("with the last factor the recovery codes go", async t => {
  const p = await platform(t)
  const { ada, phone } = await withPhone(p)
  await ada.own.auth.createRecoveryCodes()
  assert.deepEqual(await ada.own.auth.deleteFactor({ id: phone.factorId }), { id: phone.factorId })
  const left = await p.database.db.selectFrom("auth.recovery_codes").selectAll().execute()
  assert.equal(left.length, 0)
  tokensOf(await (await browserOf(p, "acme")).auth.login({ email: ada.email, password: PASSWORD }))
})

test("neither a new password by mail nor a magic link skips the second factor", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  const { ada } = await withPhone(p)
  await admin.auth.manageUser({ id: ada.id, email_confirmed: true })
  await browser.auth.magicLink({ email: ada.email })
  const link = await lastMail(p, "acme", ada.email)
  waitingOf(await browser.auth.verify({ type: "magiclink", token: link.token }))
  await browser.auth.resetPassword({ email: ada.email })
  const { token } = await lastMail(p, "acme", ada.email, 2)
  const { mfa_token } = await signIn(p, ada)
  await browser.auth.confirmReset({ token, password: "another horse battery" })
  waitingOf(await browser.auth.login({ email: ada.email, password: "another horse battery" }))
  // A sign-in with the old password does not go on.
  assert.equal(
    await refusal(p.as("").auth.useRecoveryCode({ code: "AAAAA-AAAAA", mfa_token })),
    "mfa_challenge_failed",
  )
})

test("neither the secret of a phone nor a recovery code is in the database as it is shown", async t => {
  const p = await platform(t)
  const { ada, enrolled } = await withPhone(p)
  const { codes } = await ada.own.auth.createRecoveryCodes()
  const rows = JSON.stringify([
    await p.database.db.selectFrom("auth.factors").selectAll().execute(),
    await p.database.db.selectFrom("auth.recovery_codes").selectAll().execute(),
  ])
  for (const secret of [enrolled.totp.secret, fromBase32(enrolled.totp.secret).toString("base64"), ...codes])
    assert.equal(rows.includes(secret), false)
  assert.equal(
    await refusal(browserOf(p, "acme").then(b => b.auth.login({ email: newAddress(), password: "x" }))),
    "invalid_credentials",
  )
})
