import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import PostalMime from "postal-mime"
import { eventually } from "../../testing/eventually.ts"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import { type SmtpSink, startSmtp } from "../../testing/smtp.ts"
import { newEmail, refused, signedIn, signIn, stranger } from "./testing/people.ts"

const HOUR_MS = 3_600_000
const NEW_PASSWORD = "staple battery horse"
const OTHER_PASSWORD = "purple battery staple"

/** A platform that sends mail, and a person whose address is confirmed. */
const sendingPlatform = async (t: TestContext) => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url, SVC_MAIL_FROM: "svc@cloud.test" } })
  const email = newEmail()
  await stranger(p).request("account.signup", { email, password: PASSWORD })
  const token = await tokenOfMail(sink, 1, "svc_verify_")
  const { headers } = await stranger(p).request("account.verifyEmail", { token, password: PASSWORD })
  return { p, sink, email, session: signedIn(p, headers) }
}

const tokenOfMail = async (sink: SmtpSink, number: number, prefix = "svc_reset_"): Promise<string> => {
  const mail = (await sink.received(number))[number - 1]
  const { text = "" } = await PostalMime.parse(mail?.content ?? "")
  return new RegExp(`${prefix}[\\w-]{43}`).exec(text)?.[0] ?? assert.fail(text)
}

const ask = (p: TestPlatform, email: string) => stranger(p).account.resetPassword({ email })

const confirm = (p: TestPlatform, token: string, password: string = NEW_PASSWORD) =>
  stranger(p).account.confirmPasswordReset({ token, password })

const jobsOf = async (p: TestPlatform) =>
  (await p.database.pool.query("SELECT id FROM kernel.jobs WHERE queue = 'accounts.password_reset'")).rows
    .length

test("the token of the mail sets a new password once, and ends every session", async t => {
  const { p, sink, email, session } = await sendingPlatform(t)
  await ask(p, email.toUpperCase())
  const token = await tokenOfMail(sink, 2)
  // Nothing has changed until it is used.
  await signIn(p, email)
  await refused(confirm(p, `${token.slice(0, -4)}AAAA`), "token_invalid_or_expired")
  await refused(confirm(p, token, "short"), "weak_password")

  await confirm(p, token)

  await refused(session.svc.account.get(), "session_expired")
  await refused(stranger(p).account.login({ email, password: PASSWORD }), "invalid_credentials")
  await signIn(p, email, NEW_PASSWORD)
  await refused(confirm(p, token, OTHER_PASSWORD), "token_invalid_or_expired")
})

test("an address without an account gets the same answer, and no mail", async t => {
  const { p, sink, email } = await sendingPlatform(t)
  const unknown = newEmail()
  const answer = async (address: string) => {
    const { status, data } = await stranger(p).request("account.resetPassword", { email: address })
    return { status, expires_at: data.expires_at, fields: Object.keys(data) }
  }
  assert.deepEqual(await answer(unknown), await answer(email))
  const mail = (await sink.received(2))[1]
  assert.deepEqual(mail?.recipients, [email])
  await eventually("both requests are done with", async () => (await jobsOf(p)) === 0)
  assert.equal(sink.mails.length, 2)
})

test("a new password ends the mails before it, and those that are still on their way", async t => {
  const { p, sink, email } = await sendingPlatform(t)
  await ask(p, email)
  const first = await tokenOfMail(sink, 2)
  await ask(p, email)
  const second = await tokenOfMail(sink, 3)
  sink.script({ code: 451, text: "4.7.1 Greylisted" })
  await ask(p, email)
  await eventually("the third mail has to wait", async () => {
    const { rows } = await p.database.pool.query(
      "SELECT FROM kernel.jobs WHERE queue = 'accounts.password_reset' AND last_error IS NOT NULL",
    )
    return rows.length === 1
  })

  await confirm(p, second)

  await refused(confirm(p, first, OTHER_PASSWORD), "token_invalid_or_expired")
  await p.clock.advance(HOUR_MS / 2)
  await eventually("the third mail is given up", async () => (await jobsOf(p)) === 0)
  assert.equal(sink.mails.length, 3)
})

test("a token sets one password, however many requests bring it at once", async t => {
  const { p, sink, email } = await sendingPlatform(t)
  await ask(p, email)
  const token = await tokenOfMail(sink, 2)
  const passwords = [NEW_PASSWORD, OTHER_PASSWORD, "orange battery staple"]
  const answers = await Promise.allSettled(passwords.map(password => confirm(p, token, password)))
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1)
  const winner = passwords[answers.findIndex(({ status }) => status === "fulfilled")]
  await signIn(p, email, winner)
})

test("a token ends after an hour", async t => {
  const { p, sink, email } = await sendingPlatform(t)
  await ask(p, email)
  const token = await tokenOfMail(sink, 2)
  await p.clock.advance(HOUR_MS)
  await refused(confirm(p, token), "token_invalid_or_expired")
  await signIn(p, email)
})

test("a locked account is free again after its owner set a new password", async t => {
  const { p, sink, email } = await sendingPlatform(t)
  const guess = () => stranger(p).account.login({ email, password: OTHER_PASSWORD })
  for (let time = 0; time < 10; time++) await refused(guess(), "invalid_credentials")
  await refused(guess(), "account_locked")
  await ask(p, email)
  await confirm(p, await tokenOfMail(sink, 2))
  await signIn(p, email, NEW_PASSWORD)
})

test("resets are limited by address, the same for addresses without an account", async t => {
  const { p, email } = await sendingPlatform(t)
  for (const address of [email, newEmail()]) {
    for (let time = 0; time < 3; time++) await ask(p, address)
    await refused(ask(p, address.toUpperCase()), "auth_rate_limited")
  }
})

test("an installation that sends no mail says which setting would let it", async t => {
  const p = await platform(t)
  const error = await refused(ask(p, newEmail()), "service_unavailable")
  assert.match(error.message, /SVC_SMTP_URL/)
})
