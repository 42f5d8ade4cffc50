import assert from "node:assert/strict"
import { test } from "node:test"
import { SvcError } from "@svc/sdk"
import { PASSWORD, platform } from "../../testing/platform.ts"
import { fromBase32, phoneOf } from "../credentials/testing/phone.ts"
import { totpCode, totpStep } from "../credentials/totp.ts"
import { refused, signIn, signUp, stranger } from "./testing/people.ts"
import { beginSignIn, completeSignIn, withPhone } from "./testing/phone.ts"

const MINUTE = 60_000
const OTHER_PASSWORD = "staple battery horse"

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => (error instanceof SvcError ? error.code : String(error)),
  )

test("with an authenticator a sign-in takes the password and a code, and opens no session before both", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  assert.equal((await ada.svc.account.get()).mfa_enabled, true)
  const token = await beginSignIn(p, ada)
  const session = await completeSignIn(p, token, await ada.phone.code())
  assert.equal((await session.svc.account.get()).id, ada.id)
  const { factors, recovery_codes_left } = await session.svc.account.listFactors()
  assert.deepEqual(
    [factors.map(({ friendly_name, status }) => [friendly_name, status]), recovery_codes_left],
    [[["phone", "verified"]], 10],
  )
  // The wait is over.
  await refused(completeSignIn(p, token, await ada.phone.code()), "mfa_challenge_failed")
})

test("an authenticator counts once a code of it was seen; then all other sessions end", async t => {
  const p = await platform(t)
  const ada = await signUp(p)
  const elsewhere = await signIn(p, ada.email)
  const { factor_id, totp } = await ada.svc.account.enrollFactor({ friendly_name: "phone" })
  assert.match(totp.qr_code, /^data:image\/png;base64,/)
  await signIn(p, ada.email)
  await refused(ada.svc.account.verifyFactor({ factor_id, code: "wrong" }), "mfa_challenge_failed")
  const code = await phoneOf(p, totp.secret).code()
  assert.equal((await ada.svc.account.verifyFactor({ factor_id, code })).status, "verified")
  await refused(elsewhere.svc.account.get(), "session_expired")
  await beginSignIn(p, ada)

  await refused(ada.svc.account.enrollFactor({ friendly_name: "phone" }), "factor_name_taken")
  await ada.svc.account.enrollFactor({ friendly_name: "tablet" })
  const again = await ada.svc.account.enrollFactor({ friendly_name: "tablet" })
  for (let at = 2; at < 10; at++) await ada.svc.account.enrollFactor({ friendly_name: `phone ${at}` })
  await refused(ada.svc.account.enrollFactor({ friendly_name: "one more" }), "invalid_parameter")
  // Recovery codes come with the first factor only.
  const tablet = { factor_id: again.factor_id, code: await phoneOf(p, again.totp.secret).code() }
  assert.equal((await ada.svc.account.verifyFactor(tablet)).recovery_codes, null)
})

test("a code works once: not again, not an earlier one, and of sign-ins at the same time for one", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const tokens = [await beginSignIn(p, ada), await beginSignIn(p, ada), await beginSignIn(p, ada)]
  const code = await ada.phone.code()
  const answers = await Promise.all(tokens.map(token => codeOf(completeSignIn(p, token, code))))
  assert.deepEqual(answers.sort(), ["mfa_challenge_failed", "mfa_challenge_failed", "none"])
  const token = await beginSignIn(p, ada)
  await refused(completeSignIn(p, token, code), "mfa_challenge_failed")
  const earlier = totpCode(fromBase32(ada.secret), totpStep(p.clock.now()) - 1)
  await refused(completeSignIn(p, token, earlier), "mfa_challenge_failed")
})

test("of requests with one waiting sign-in and different codes one signs in", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const token = await beginSignIn(p, ada)
  const codes = [await ada.phone.code(), ada.recoveryCodes[0] ?? "", ada.recoveryCodes[1] ?? ""]
  const answers = await Promise.all(codes.map(code => codeOf(completeSignIn(p, token, code))))
  assert.equal(answers.filter(answer => answer === "none").length, 1, answers.join())
})

test("a code without a password, with another's sign-in, or after five minutes signs nobody in", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const bob = await withPhone(p)
  const code = await ada.phone.code()
  await refused(completeSignIn(p, `svc_mfa_${"A".repeat(43)}`, code), "mfa_challenge_failed")
  await refused(completeSignIn(p, await beginSignIn(p, bob), code), "mfa_challenge_failed")
  const [first = ""] = ada.recoveryCodes
  await refused(completeSignIn(p, await beginSignIn(p, bob), first), "mfa_challenge_failed")
  await refused(bob.svc.account.deleteFactor({ id: ada.factorId }), "factor_not_found")
  await refused(bob.svc.account.verifyFactor({ factor_id: ada.factorId, code }), "factor_not_found")

  const token = await beginSignIn(p, ada)
  await p.clock.advance(5 * MINUTE)
  await refused(completeSignIn(p, token, await ada.phone.code()), "mfa_challenge_expired")
})

test("a recovery code stands for the authenticator once, and new codes end the old ones", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const use = async (code = "") => codeOf(completeSignIn(p, await beginSignIn(p, ada), code.toLowerCase()))
  assert.equal(await use(ada.recoveryCodes[0]), "none")
  assert.equal(await use(ada.recoveryCodes[0]), "mfa_challenge_failed")
  assert.equal((await ada.svc.account.listFactors()).recovery_codes_left, 9)
  const { codes } = await ada.svc.account.createRecoveryCodes()
  assert.equal(await use(ada.recoveryCodes[1]), "mfa_challenge_failed")
  assert.equal(await use(codes[0]), "none")
  await refused((await signUp(p)).svc.account.createRecoveryCodes(), "mfa_challenge_failed")
})

test("five wrong codes close the way by codes for a minute, from everywhere", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const token = await beginSignIn(p, ada)
  for (let at = 0; at < 5; at++) await refused(completeSignIn(p, token, "wrong"), "mfa_challenge_failed")
  const right = totpCode(fromBase32(ada.secret), totpStep(p.clock.now()) + 1)
  await refused(completeSignIn(p, token, right), "mfa_attempts_exceeded")
  await refused(completeSignIn(p, token, ada.recoveryCodes[0] ?? ""), "mfa_attempts_exceeded")
  const factor = { factor_id: ada.factorId, code: right }
  await refused(ada.svc.account.verifyFactor(factor), "mfa_attempts_exceeded")
  await refused(ada.svc.account.reauthenticate({ password: PASSWORD, code: right }), "mfa_attempts_exceeded")
  await completeSignIn(p, token, await ada.phone.code())
})

test("a session whose sign-in is older than 15 minutes changes no factor until password and code are given", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  await p.clock.advance(16 * MINUTE)
  const { account } = ada.svc
  for (const attempt of [
    () => account.enrollFactor({ friendly_name: "stranger's" }),
    () => account.verifyFactor({ factor_id: ada.factorId, code: "123456" }),
    () => account.deleteFactor({ id: ada.factorId }),
    () => account.createRecoveryCodes(),
    () => account.update({ password: OTHER_PASSWORD, current_password: PASSWORD }),
  ])
    await refused(attempt(), "step_up_required")
  await refused(account.reauthenticate({ password: PASSWORD }), "missing_parameter")
  await refused(account.reauthenticate({ password: PASSWORD, code: "wrong" }), "mfa_challenge_failed")
  await refused(account.deleteFactor({ id: ada.factorId }), "step_up_required")

  await account.reauthenticate({ password: PASSWORD, code: await ada.phone.code() })
  await account.deleteFactor({ id: ada.factorId })
  assert.equal((await account.get()).mfa_enabled, false)
  assert.equal((await account.listFactors()).recovery_codes_left, 0)
  await signIn(p, ada.email)
})

test("a new password ends what waits with the old one", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const token = await beginSignIn(p, ada)
  await ada.svc.account.update({ password: OTHER_PASSWORD, current_password: PASSWORD })
  await refused(completeSignIn(p, token, await ada.phone.code()), "mfa_challenge_failed")
  await completeSignIn(p, await beginSignIn(p, ada, OTHER_PASSWORD), await ada.phone.code())
})

test("a wrong password is answered as without a second factor, and sign-ins that wait tell no more", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  const plain = await signUp(p)
  const answer = async (email: string) => {
    const { message, status } = await refused(
      stranger(p).account.login({ email, password: "wrong battery" }),
      "invalid_credentials",
    )
    return [message, status]
  }
  assert.deepEqual(await answer(ada.email), await answer(plain.email))
  assert.deepEqual(await answer(ada.email), await answer("nobody@example.com"))
})

test("secrets of authenticators and recovery codes are not in the database as they are shown; what was not completed goes", async t => {
  const p = await platform(t)
  const ada = await withPhone(p)
  await ada.svc.account.enrollFactor({ friendly_name: "tablet" })
  await beginSignIn(p, ada)
  const rows = async () => [
    ...(await p.database.db.selectFrom("core.account_factors").selectAll().execute()),
    ...(await p.database.db.selectFrom("core.account_waiting").selectAll().execute()),
  ]
  const codes = await p.database.db.selectFrom("core.account_recovery_codes").selectAll().execute()
  const text = JSON.stringify([await rows(), codes])
  const shown = [ada.secret, fromBase32(ada.secret).toString("base64"), ...ada.recoveryCodes]
  for (const secret of shown) assert.equal(text.includes(secret), false)
  assert.equal((await rows()).length, 3)
  await p.clock.advance(25 * 60 * MINUTE)
  assert.equal((await rows()).length, 1)
})
