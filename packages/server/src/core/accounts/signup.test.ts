import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import PostalMime from "postal-mime"
import { eventually } from "../../testing/eventually.ts"
import { PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import { type SmtpSink, startSmtp } from "../../testing/smtp.ts"
import { createPasswords } from "./passwords.ts"
import { newEmail, refused, signedIn, signIn, stranger } from "./testing/people.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const OTHER_PASSWORD = "staple battery horse"

const sendingPlatform = async (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
  const sink = await startSmtp(t)
  const p = await platform(t, {
    env: { SVC_SMTP_URL: sink.url, SVC_MAIL_FROM: "svc@cloud.test", ...env },
  })
  return { p, sink }
}

interface Input {
  readonly email: string
  readonly password?: string
  readonly name?: string
  readonly invitation_token?: string
}

const request = (p: TestPlatform, { password = PASSWORD, ...input }: Input) =>
  stranger(p).request("account.signup", { password, ...input })

/** The text of the mail of that number. */
const mailText = async (sink: SmtpSink, number: number) => {
  const mail = (await sink.received(number))[number - 1]
  const { text = "", subject } = await PostalMime.parse(mail?.content ?? "")
  return { text, subject, recipients: mail?.recipients }
}

const tokenOf = (text: string): string => /svc_verify_[\w-]{43}/.exec(text)?.[0] ?? assert.fail(text)

const confirm = (p: TestPlatform, token: string, password: string = PASSWORD) =>
  stranger(p).request("account.verifyEmail", { token, password })

const resetToken = async (p: TestPlatform, sink: SmtpSink, email: string): Promise<string> => {
  const mails = sink.mails.length
  await stranger(p).account.resetPassword({ email })
  const { text } = await mailText(sink, mails + 1)
  return /svc_reset_[\w-]{43}/.exec(text)?.[0] ?? assert.fail(text)
}

/** A person who has confirmed their address; the mails that it took are `mails`. */
const signUpByMail = async (p: TestPlatform, sink: SmtpSink, email = newEmail()) => {
  const mails = sink.mails.length
  await request(p, { email })
  const { text } = await mailText(sink, mails + 1)
  const { headers } = await confirm(p, tokenOf(text))
  return { email, ...signedIn(p, headers) }
}

test("a sign-up is answered the same whether or not the address has an account, and only its mail tells", async t => {
  const { p, sink } = await sendingPlatform(t)
  const { email } = await signUpByMail(p, sink)
  const organizations = () => p.database.db.selectFrom("core.organizations").select("id").execute()
  const before = (await organizations()).length
  const unknown = newEmail()
  const answer = async (address: string) => {
    const { status, data, headers } = await request(p, { email: address, name: "Visit evil.example" })
    assert.deepEqual(Object.keys(data), ["email", "expires_at"])
    return {
      status,
      expires_at: (data as { expires_at: string }).expires_at,
      cookie: headers.get("set-cookie"),
    }
  }

  assert.deepEqual(await answer(email.toUpperCase()), await answer(unknown))

  assert.equal((await answer(newEmail())).cookie, null)
  assert.equal((await organizations()).length, before)
  await sink.received(4)
  const mails = await Promise.all([2, 3, 4].map(number => mailText(sink, number)))
  const to = (address: string) =>
    mails.find(({ recipients }) => recipients?.[0]?.toLowerCase() === address) ?? assert.fail("no mail")
  assert.equal(to(email).subject, "You have an account already")
  assert.doesNotMatch(to(email).text, /svc_verify_|evil/)
  assert.equal(to(unknown).subject, "Confirm your e-mail address")
  assert.doesNotMatch(to(unknown).text, /evil/)
  // The account is as it was.
  await signIn(p, email)
})

test("a person signs in only after the mailed token, and with the password that they chose", async t => {
  const { p, sink } = await sendingPlatform(t)
  const email = newEmail()
  await request(p, { email, name: "Ada" })
  await refused(stranger(p).account.login({ email, password: PASSWORD }), "invalid_credentials")
  const token = tokenOf((await mailText(sink, 1)).text)
  await refused(confirm(p, `${token.slice(0, -4)}AAAA`), "token_invalid_or_expired")
  await refused(confirm(p, token, OTHER_PASSWORD), "invalid_credentials")

  const { status, data, headers } = await confirm(p, token)

  assert.equal(status, 201)
  assert.deepEqual([data.user.email, data.user.name], [email, "Ada"])
  assert.match(headers.get("set-cookie") ?? "", /^svc_session=svc_sess_/)
  const { svc } = signedIn(p, headers)
  assert.deepEqual(
    (await svc.organizations.list()).data.map(({ plan, role }) => ({ plan, role })),
    [{ plan: "free", role: "owner" }],
  )
  await refused(confirm(p, token), "token_invalid_or_expired")
  await signIn(p, email)
})

test("a token of a sign-up ends after 24 hours, and after ten passwords", async t => {
  const { p, sink } = await sendingPlatform(t)
  await request(p, { email: newEmail() })
  const guessed = tokenOf((await mailText(sink, 1)).text)
  for (let guess = 0; guess < 10; guess++)
    await refused(confirm(p, guessed, OTHER_PASSWORD), "invalid_credentials")
  await refused(confirm(p, guessed), "token_invalid_or_expired")

  await request(p, { email: newEmail() })
  const late = tokenOf((await mailText(sink, 2)).text)
  await p.clock.advance(24 * HOUR_MS)
  await refused(confirm(p, late), "token_invalid_or_expired")
})

test("of two sign-ups with one address the first that is confirmed gets it", async t => {
  const { p, sink } = await sendingPlatform(t)
  const email = newEmail()
  // Nobody confirms for somebody else: each token goes with the password of its own sign-up.
  await request(p, { email, password: OTHER_PASSWORD })
  const others = tokenOf((await mailText(sink, 1)).text)
  await request(p, { email })
  const own = tokenOf((await mailText(sink, 2)).text)
  await refused(confirm(p, others), "invalid_credentials")

  await confirm(p, own)

  await refused(confirm(p, others, OTHER_PASSWORD), "conflict")
  await signIn(p, email)
})

test("sign-ups are limited by address and place, the same for addresses that have an account", async t => {
  const { p, sink } = await sendingPlatform(t, { SVC_TRUSTED_PROXIES: "127.0.0.0/8,::1/128" })
  const { email } = await signUpByMail(p, sink)
  const from = async (ip: string, address: string) => {
    const response = await p.request("/v1/account/signup", {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": ip },
      body: JSON.stringify({ email: address, password: PASSWORD }),
    })
    const { code = "" } = (await response.json()) as { code?: string }
    return [response.status, code, response.headers.get("retry-after")]
  }
  const sent = [200, "", null]

  // The sign-up of the account counts still, from another place.
  const unknown = newEmail()
  await request(p, { email: unknown })
  for (const address of [email, unknown]) {
    for (let time = 0; time < 3; time++) assert.deepEqual(await from("192.0.2.1", address), sent)
    assert.deepEqual(await from("192.0.2.1", address.toUpperCase()), [429, "auth_rate_limited", "3600"])
    // One IPv6 /64 is one place.
    for (const place of ["2001:db8:1", "2001:db8:2"])
      for (let time = 1; time <= 3; time++)
        assert.deepEqual(await from(`${place}::${time}`, address), sent, `${place} ${time}`)
    assert.deepEqual(await from("198.51.100.1", address), [429, "auth_rate_limited", "86400"])
  }
  assert.deepEqual(await from("192.0.2.1", newEmail()), sent)
  await p.clock.advance(24 * HOUR_MS)
  assert.deepEqual(await from("198.51.100.1", email), sent)
})

test("sign-ups that are sent at once cannot outrun the limit", async t => {
  const { p } = await sendingPlatform(t)
  const email = newEmail()
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => request(p, { email })))
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 3)
})

test("an invited person signs up by mail where sign-up is closed, while the invitation is open", async t => {
  const { p, sink } = await sendingPlatform(t, { SVC_SIGNUP: "closed" })
  const { organizationId: org_id } = await p.tenant("acme")
  const owner = await p.person("acme")
  const invite = async () => {
    const email = newEmail()
    const { id, token: invitation_token = "" } = await owner.organizations.invite({
      org_id,
      email,
      role: "member",
    })
    return { id, email, invitation_token }
  }
  const { email, invitation_token } = await invite()
  const withdrawn = await invite()
  await refused(request(p, { email }), "signup_disabled")
  await refused(request(p, { email: newEmail(), invitation_token }), "invitation_not_found")

  await request(p, { email, invitation_token })
  const { headers } = await confirm(p, tokenOf((await mailText(sink, 1)).text))
  const { svc } = signedIn(p, headers)
  await svc.organizations.acceptInvitation({ token: invitation_token })
  assert.ok((await svc.organizations.list()).data.some(({ id }) => id === org_id))

  await request(p, { email: withdrawn.email, invitation_token: withdrawn.invitation_token })
  const token = tokenOf((await mailText(sink, 2)).text)
  await owner.organizations.revokeInvitation({ org_id, id: withdrawn.id })
  await refused(confirm(p, token), "invitation_not_found")
})

test("whoever signed up while it was open is not let in once it is closed", async t => {
  const { p, sink } = await sendingPlatform(t)
  await request(p, { email: newEmail() })
  const token = tokenOf((await mailText(sink, 1)).text)
  const closed = await platform(t, {
    databaseUrl: p.config.databaseUrl ?? "",
    startMs: p.clock.now(),
    env: { SVC_SIGNUP: "closed" },
  })
  await refused(confirm(closed, token), "signup_disabled")
})

test("confirming an address is three attempts a minute from one address", async t => {
  const p = await platform(t, { env: { SVC_AUTH_RATE_LIMIT: "on" } })
  const guess = () => confirm(p, `svc_verify_${"A".repeat(43)}`)
  for (let attempt = 0; attempt < 3; attempt++) await refused(guess(), "token_invalid_or_expired")
  await refused(guess(), "auth_rate_limited")
})

test("while too many passwords are hashed already, everything that needs one says to come back", async t => {
  const { p, sink } = await sendingPlatform(t)
  await request(p, { email: newEmail() })
  const token = tokenOf((await mailText(sink, 1)).text)
  const { email } = await signUpByMail(p, sink)
  const { setCookie } = await signIn(p, email)
  const full = await platform(t, {
    databaseUrl: p.config.databaseUrl ?? "",
    startMs: p.clock.now(),
    passwords: createPasswords(0, 0),
  })
  const { svc } = signedIn(full, new Headers({ "set-cookie": setCookie }))
  const later = async (call: Promise<unknown>) => {
    const error = await refused(call, "service_unavailable")
    assert.equal(error.retryAfter, 2)
  }

  await later(request(full, { email: newEmail() }))
  await later(confirm(full, token))
  await later(
    stranger(full).account.confirmPasswordReset({
      token: await resetToken(p, sink, email),
      password: OTHER_PASSWORD,
    }),
  )
  await later(stranger(full).account.login({ email, password: PASSWORD }))
  await later(svc.account.reauthenticate({ password: PASSWORD }))
  await later(svc.account.update({ password: OTHER_PASSWORD, current_password: PASSWORD }))

  await confirm(p, token)
})

test("neither the password nor the token of a sign-up is in the database", async t => {
  const { p, sink } = await sendingPlatform(t)
  const { email } = await signUpByMail(p, sink)
  await request(p, { email })
  await request(p, { email: newEmail() })
  await sink.received(3)
  const tokens = await Promise.all([1, 3].map(async number => (await mailText(sink, number)).text))
  const { rows } = await p.database.pool.query<{ row: string }>(
    "SELECT to_jsonb(s)::text AS row FROM core.signups s UNION ALL SELECT to_jsonb(j)::text FROM kernel.jobs j",
  )
  assert.ok(rows.length >= 3)
  for (const { row } of rows) {
    assert.ok(!row.includes(PASSWORD))
    for (const text of tokens) {
      const [token] = /svc_verify_[\w-]{43}/.exec(text) ?? []
      if (token) assert.ok(!row.includes(token) && !row.includes(token.slice("svc_verify_".length)))
    }
  }
  const ended = await p.database.db
    .selectFrom("core.signups")
    .select("password_hash")
    .where("email", "=", email)
    .execute()
  assert.deepEqual(ended, [{ password_hash: null }, { password_hash: null }])
})

test("a mail that its server does not take now goes out later, with a token that works", async t => {
  const { p, sink } = await sendingPlatform(t)
  sink.script({ code: 451, text: "4.7.1 Greylisted" })
  const email = newEmail()
  await request(p, { email })
  await eventually("the first attempt has failed", async () => {
    const { rows } = await p.database.pool.query(
      "SELECT FROM kernel.jobs WHERE queue = 'accounts.signup' AND last_error IS NOT NULL",
    )
    return rows.length === 1
  })
  await p.clock.advance(2 * MINUTE_MS)
  await confirm(p, tokenOf((await mailText(sink, 1)).text))
  await signIn(p, email)
})
