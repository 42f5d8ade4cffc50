import assert from "node:assert/strict"
import { test } from "node:test"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import {
  ADMIN,
  browserOf,
  lastMail,
  newAddress,
  personOf,
  refusal,
  signUp,
  tokensOf,
} from "./testing/people.ts"

const HOUR = 3_600_000
const NEW_PASSWORD = "another horse battery"

const confirming = async (p: TestPlatform, tenant = "acme") => {
  const admin = await p.client(tenant, ...ADMIN)
  await admin.auth.putSettings({ confirm_email: true })
  return await browserOf(p, tenant)
}

test("a sign-up is answered the same for a taken address, and only the mail tells", async t => {
  const p = await platform(t)
  const browser = await confirming(p)
  const email = newAddress()
  const first = await browser.auth.signup({ email, password: PASSWORD })
  assert.ok("confirmation_sent_at" in first)
  assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "email_not_confirmed")
  const { token } = await lastMail(p, "acme", email)
  const ada = personOf(p, await browser.auth.verify({ type: "signup", token }))
  assert.equal(ada.id, first.user.id)
  tokensOf(await browser.auth.login({ email, password: PASSWORD }))

  const again = await browser.auth.signup({ email, password: "a stranger's guess" })
  assert.ok("confirmation_sent_at" in again)
  const shape = ({ user }: typeof first) => ({ ...user, id: user.id.length, created_at: "", updated_at: "" })
  assert.deepEqual(shape(again), shape(first))
  assert.notEqual(again.user.id, first.user.id)
  const known = await lastMail(p, "acme", email, 2)
  assert.match(known.subject, /already/)
  assert.equal(known.token, "")
  tokensOf(await browser.auth.login({ email, password: PASSWORD }))
})

test("a mailed link works once, of requests at the same time too, and only for its kind and project", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  await browser.auth.magicLink({ email: ada.email })
  const { token } = await lastMail(p, "acme", ada.email)
  const stranger = await browserOf(p, "globex")
  for (const attempt of [
    () => stranger.auth.verify({ type: "magiclink", token }),
    () => browser.auth.verify({ type: "signup", token }),
    () => browser.auth.confirmReset({ token, password: NEW_PASSWORD }),
  ])
    assert.equal(await refusal(attempt()), "token_invalid_or_expired")
  const opened = await Promise.all(
    [1, 2, 3].map(() => refusal(browser.auth.verify({ type: "magiclink", token }))),
  )
  assert.deepEqual(opened.sort(), ["none", "token_invalid_or_expired", "token_invalid_or_expired"])
})

test("a mailed code works once, and five wrong ones end it", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const { email } = ada
  await browser.auth.otp({ email })
  const { code } = await lastMail(p, "acme", email)
  const wrong = code === "000000" ? "000001" : "000000"
  const verify = (code: string) => refusal(browser.auth.verify({ type: "otp", email, code }))
  assert.equal(await refusal(browser.auth.verify({ type: "otp", code })), "missing_parameter")
  assert.equal(await refusal(browser.auth.verify({ type: "otp" })), "missing_parameter")
  assert.equal(await verify(wrong), "token_invalid_or_expired")
  assert.equal(await verify(code), "none")
  assert.equal(await verify(code), "token_invalid_or_expired")

  await browser.auth.otp({ email })
  const second = await lastMail(p, "acme", email, 2)
  const other = second.code === "000000" ? "000001" : "000000"
  for (let at = 0; at < 5; at++) assert.equal(await verify(other), "token_invalid_or_expired")
  assert.equal(await verify(second.code), "token_invalid_or_expired")
})

test("mails that sign in or reset are answered the same for an address without a user, and send nothing", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const email = newAddress()
  for (const reply of [
    await browser.auth.magicLink({ email }),
    await browser.auth.otp({ email }),
    await browser.auth.resetPassword({ email }),
    await browser.auth.resend({ type: "signup", email }),
  ])
    assert.deepEqual(reply, {})
  const ada = await signUp(p, "acme")
  await browser.auth.magicLink({ email: ada.email })
  await lastMail(p, "acme", ada.email)
  const key = await p.client("acme", "email:read")
  assert.equal((await key.email.listMessages({ recipient: email })).total, 0)
})

test("one address gets three mails of a kind an hour, whether or not there is a user", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  for (const email of [ada.email, newAddress()]) {
    const sent = await Promise.all([1, 2, 3, 4].map(() => refusal(browser.auth.resetPassword({ email }))))
    assert.deepEqual(sent.sort(), ["auth_rate_limited", "none", "none", "none"])
  }
})

test("a new password by mail ends sessions, and every other mail that could sign in", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const { email } = ada
  await browser.auth.magicLink({ email })
  const link = await lastMail(p, "acme", email)
  await browser.auth.resetPassword({ email })
  const reset = await lastMail(p, "acme", email, 2)
  assert.equal(
    await refusal(browser.auth.confirmReset({ token: reset.token, password: "short" })),
    "weak_password",
  )
  assert.deepEqual(await browser.auth.confirmReset({ token: reset.token, password: NEW_PASSWORD }), {})
  assert.equal(await refusal(ada.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: ada.refresh_token })),
    "refresh_token_invalid",
  )
  for (const used of [
    () => browser.auth.verify({ type: "magiclink", token: link.token }),
    () => browser.auth.confirmReset({ token: reset.token, password: PASSWORD }),
  ])
    assert.equal(await refusal(used()), "token_invalid_or_expired")
  assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "invalid_credentials")
  tokensOf(await browser.auth.login({ email, password: NEW_PASSWORD }))
})

test("a password change ends mails that could sign in", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  await browser.auth.magicLink({ email: ada.email })
  const { token } = await lastMail(p, "acme", ada.email)
  await ada.own.auth.updateUser({ password: NEW_PASSWORD, current_password: PASSWORD })
  assert.equal(await refusal(browser.auth.verify({ type: "magiclink", token })), "token_invalid_or_expired")
})

test("what a stranger registered for an address does not survive its owner's confirmation", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const stranger = await signUp(p, "acme")
  const { email } = stranger
  // The stranger was elsewhere.
  await p.database.db
    .updateTable("auth.users")
    .set({ signup_source: "203.0.113.7" })
    .where("id", "=", stranger.id)
    .execute()
  await stranger.own.auth.enroll({ friendly_name: "stranger's phone" })
  await browser.auth.magicLink({ email })
  const { token } = await lastMail(p, "acme", email)
  const owner = personOf(p, await browser.auth.verify({ type: "magiclink", token }))
  assert.equal(owner.id, stranger.id)
  assert.deepEqual((await owner.own.auth.listFactors()).factors, [])
  assert.equal(await refusal(stranger.own.auth.getUser()), "token_invalid")
  assert.equal(
    await refusal(browser.auth.refresh({ refresh_token: stranger.refresh_token })),
    "refresh_token_invalid",
  )
  assert.equal(await refusal(browser.auth.login({ email, password: PASSWORD })), "invalid_credentials")
})

test("a confirmation keeps the password of who sends it, and takes another one as the new one", async t => {
  const p = await platform(t)
  const browser = await confirming(p)
  for (const password of [PASSWORD, NEW_PASSWORD]) {
    const email = newAddress()
    await browser.auth.signup({ email, password: PASSWORD })
    await p.database.db
      .updateTable("auth.users")
      .set({ signup_source: "203.0.113.7" })
      .where("email", "=", email)
      .execute()
    const { token } = await lastMail(p, "acme", email)
    assert.equal(
      await refusal(browser.auth.verify({ type: "signup", token, password: "short" })),
      "weak_password",
    )
    tokensOf(await browser.auth.verify({ type: "signup", token, password }))
    tokensOf(await browser.auth.login({ email, password }))
  }
})

test("another address holds once it is confirmed, and the old one no longer", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const ada = await signUp(p, "acme")
  const email = newAddress()
  assert.equal(await refusal(ada.own.auth.updateUser({ email })), "missing_parameter")
  const shown = await ada.own.auth.updateUser({ email, current_password: PASSWORD })
  assert.equal(shown.email, ada.email)
  const { token } = await lastMail(p, "acme", email)
  tokensOf(await browser.auth.verify({ type: "email_change", token }))
  assert.equal((await ada.own.auth.getUser()).email, email)
  assert.equal(
    await refusal(browser.auth.login({ email: ada.email, password: PASSWORD })),
    "invalid_credentials",
  )
  tokensOf(await browser.auth.login({ email, password: PASSWORD }))
})

test("an invited person sets a password, where sign-up is by invitation alone", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  await admin.auth.putSettings({ signup: "invitation" })
  const email = newAddress()
  await admin.auth.invite({ email, data: { team: "blue" } })
  assert.equal(await refusal(admin.auth.invite({ email })), "conflict")
  const { token } = await lastMail(p, "acme", email)
  const joined = tokensOf(await browser.auth.verify({ type: "invite", token, password: NEW_PASSWORD }))
  assert.deepEqual(joined.user.user_metadata, { team: "blue" })
  assert.ok(joined.user.email_confirmed_at)
  tokensOf(await browser.auth.login({ email, password: NEW_PASSWORD }))
  await admin.auth.putSettings({ signup: "closed" })
  assert.equal(await refusal(admin.auth.invite({ email: newAddress() })), "signup_disabled")
})

test("a mail works for its time, and not for a banned user", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  const ada = await signUp(p, "acme")
  await browser.auth.magicLink({ email: ada.email })
  const late = await lastMail(p, "acme", ada.email)
  await p.clock.advance(HOUR + 1000)
  assert.equal(
    await refusal(browser.auth.verify({ type: "magiclink", token: late.token })),
    "token_invalid_or_expired",
  )
  await browser.auth.magicLink({ email: ada.email })
  const { token } = await lastMail(p, "acme", ada.email, 2)
  // Banned by a process that could not end the mail.
  await p.database.db
    .updateTable("auth.users")
    .set({ banned_until: new Date(p.clock.now() + HOUR) })
    .where("id", "=", ada.id)
    .execute()
  assert.equal(await refusal(browser.auth.verify({ type: "magiclink", token })), "user_banned")
  const { id } = ada
  await admin.auth.manageUser({ id, banned_until: null })
})

test("links of mails open pages that the project allows, and no other", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  await admin.auth.putSettings({
    redirect_urls: ["https://app.example.com/welcome", "https://app.example.com/in/*"],
  })
  for (const redirect_to of [
    "https://evil.example/welcome",
    "https://app.example.com.evil.example/in/a",
    "https://app.example.com@evil.example/in/a",
    "https://app.example.com/other",
    "https://app.example.com/in/../other",
    "https://app.example.com/in/%2e%2e/other",
    "https://app.example.com/in/..%2fother",
    "https:\\\\app.example.com\\in\\a",
    "//app.example.com/in/a",
    "http://app.example.com/in/a",
    "https://app.example.com:444/in/a",
    "javascript:alert(1)//https://app.example.com/in/a",
    " https://app.example.com/in/a",
    "https://app.example.com/welcome?next=evil",
  ])
    assert.equal(
      await refusal(browser.auth.magicLink({ email: newAddress(), redirect_to })),
      "redirect_not_allowed",
      redirect_to,
    )
  const ada = await signUp(p, "acme")
  for (const attempt of [
    () =>
      browser.auth.signup({ email: newAddress(), password: PASSWORD, redirect_to: "https://evil.example" }),
    () => browser.auth.resetPassword({ email: ada.email, redirect_to: "https://evil.example" }),
    () => browser.auth.resend({ type: "signup", email: ada.email, redirect_to: "https://evil.example" }),
    () => ada.own.auth.updateUser({ redirect_to: "https://evil.example" }),
    () => admin.auth.invite({ email: newAddress(), redirect_to: "https://evil.example" }),
  ])
    assert.equal(await refusal(attempt()), "redirect_not_allowed")
  await browser.auth.magicLink({ email: ada.email, redirect_to: "https://app.example.com/in/here?a=1" })
  const { text, token } = await lastMail(p, "acme", ada.email)
  assert.ok(text.includes(`https://app.example.com/in/here?a=1&token=${token}&type=magiclink`))
  for (const url of ["javascript:alert(1)", "no address", "https://a:b@example.com/"])
    assert.equal(await refusal(admin.auth.putSettings({ redirect_urls: [url] })), "invalid_parameter")
})

test("a template of the project writes its mails", async t => {
  const p = await platform(t)
  const browser = await browserOf(p, "acme")
  const admin = await p.client("acme", ...ADMIN)
  const email = await p.client("acme", "email:write")
  await email.email.createTemplate({
    name: "enter",
    subject: "Enter {{ app }}",
    text: "Your token: {{ token }}",
    html: "<p>{{ token }}</p>",
  })
  await admin.auth.putSettings({ name: "Shop", mail_templates: { magiclink: "enter" } })
  const ada = await signUp(p, "acme")
  await browser.auth.magicLink({ email: ada.email })
  const mail = await lastMail(p, "acme", ada.email)
  assert.equal(mail.subject, "Enter Shop")
  tokensOf(await browser.auth.verify({ type: "magiclink", token: mail.token }))
})
