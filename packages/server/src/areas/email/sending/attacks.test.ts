import assert from "node:assert/strict"
import { test } from "node:test"
import { type Svc, SvcError } from "@svc/sdk"
import PostalMime from "postal-mime"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, platform } from "../../../testing/platform.ts"

const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
    return "accepted"
  } catch (error) {
    return error instanceof SvcError ? error.code : String(error)
  }
}

const mail = { to: "ada@example.com", subject: "Hello", text: "Hello" }

const rawOf = async (svc: Svc, emailId: string) => {
  const item = await eventually("it comes about", async () => {
    const { data } = await svc.email.listInbox({})
    return data.find(({ email_id }) => email_id === emailId)
  })
  return Buffer.from((await svc.email.getInbox({ id: item.id })).raw, "latin1")
}

test("nobody smuggles a header, a recipient or a body into a mail", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const refused: Record<string, object> = {
    "a line break in the subject": { subject: "a\r\nBcc: eve@example.com" },
    "a line feed in the subject": { subject: "a\nBcc: eve@example.com" },
    "a line break in an address": { to: "ada@example.com\r\nBcc: eve@example.com" },
    "a line break in a name": { to: { email: "ada@example.com", name: "A\r\nBcc: eve@example.com" } },
    "a line break in a quoted name": { to: '"A\r\nBcc: eve@example.com" <ada@example.com>' },
    "several addresses in one": { to: "ada@example.com, eve@example.com" },
    "SMTP commands in an address": { to: "ada@example.com> SIZE=1" },
    "a route": { to: "@relay.example:ada@example.com" },
    "a percent hack with a space": { to: "a b@example.com" },
    "no domain": { to: "ada@" },
    nobody: { to: [] },
    "a reply-to of two lines": { reply_to: "a@b.c\nX: y" },
    "a header with a line break": { headers: { "X-A": "1\r\nBcc: eve@example.com" } },
    "a header name with a line break": { headers: { "X-A: 1\r\nBcc": "eve@example.com" } },
    "Bcc as a header": { headers: { Bcc: "eve@example.com" } },
    "From as a header": { headers: { from: "boss@example.com" } },
    "DKIM-Signature as a header": { headers: { "DKIM-Signature": "v=1" } },
    "Content-Type as a header": { headers: { "Content-Type": "text/html" } },
    "a reserved header": { headers: { "X-Svc-Id": "1" } },
    "a path as a file name": { attachments: [{ filename: "../a", content: "" }] },
    "no base64": { attachments: [{ filename: "a", content: "%%%" }] },
    "a content type with a parameter": {
      attachments: [{ filename: "a", content: "", content_type: "text/html; charset=x" }],
    },
  }
  for (const [what, change] of Object.entries(refused)) {
    const code = await codeOf(svc.email.sendRaw({ ...mail, ...change }))
    assert.match(code, /^(invalid_parameter|validation_failed)$/, what)
  }
  assert.equal((await svc.email.listMessages({})).total, 0)
})

test("names, subjects and file names in any script arrive as they were written", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const subject = `${"Ünïcødé 日本語 🎉 ".repeat(12)}end`
  const { id } = await svc.email.sendRaw({
    ...{ ...mail, subject, to: [{ email: "ada@example.com", name: 'Ádá, Ł. "the" <first>' }] },
    reply_to: "Ответ <re@example.com>",
    html: "<p>größer</p>",
    attachments: [{ filename: "Übersicht 2026.pdf", content: "AAAA", content_type: "application/pdf" }],
  })
  const raw = await rawOf(svc, id)
  assert.ok(raw.every(byte => byte < 128))
  assert.ok(
    raw
      .toString()
      .split("\r\n")
      .every(line => line.length <= 998),
  )
  const parsed = await PostalMime.parse(raw)
  assert.equal(parsed.subject, subject)
  assert.deepEqual(parsed.to, [{ address: "ada@example.com", name: 'Ádá, Ł. "the" <first>' }])
  assert.equal(parsed.replyTo?.[0]?.name, "Ответ")
  assert.equal(parsed.attachments[0]?.filename, "Übersicht 2026.pdf")
  assert.equal(parsed.html?.trim(), "<p>größer</p>")
})

test("what is too much is refused: recipients, attachments", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const addresses = (count: number) => Array.from({ length: count }, (_, at) => `a${at}@example.com`)
  const to = addresses(30)
  assert.equal(await codeOf(svc.email.sendRaw({ ...mail, to, cc: addresses(21) })), "invalid_parameter")
  const content = Buffer.alloc(6 * 1024 * 1024).toString("base64")
  const attachments = ["a", "b"].map(filename => ({ filename, content }))
  assert.equal(await codeOf(svc.email.sendRaw({ ...mail, attachments })), "invalid_parameter")
  const fits = [{ filename: "a", content }]
  const { id } = await svc.email.sendRaw({ ...mail, attachments: fits })
  assert.ok((await rawOf(svc, id)).length > 8_000_000)
})

test("the Free plan ends at its sends of a month, also when they come at once, and a new month begins anew", async t => {
  const p = await platform(t)
  await p.tenant("free", "free")
  const svc = await p.client("free", ...everyScope)
  const to = Array.from({ length: 45 }, (_, at) => `a${at}@example.com`)
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => codeOf(svc.email.sendRaw({ ...mail, to }))))
  assert.deepEqual(outcomes.sort(), ["accepted", "accepted", "plan_limit_reached", "plan_limit_reached"])
  assert.equal(await codeOf(svc.email.sendRaw({ ...mail, to: to.slice(0, 10) })), "accepted")
  const last = await p.request("/v1/email/send/raw", {
    method: "POST",
    headers: {
      authorization: `Bearer ${(await p.key("free", ["email:send"])).secret}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(mail),
  })
  assert.equal(last.status, 402)
  await p.clock.advance(32 * 86_400_000)
  assert.equal(await codeOf(svc.email.sendRaw(mail)), "accepted")
})

test("a repeated Idempotency-Key sends one mail", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const { secret } = await p.key("acme", ["email:send"])
  const send = () =>
    p.request("/v1/email/send/raw", {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "idempotency-key": "order-7",
      },
      body: JSON.stringify(mail),
    })
  const [first, second] = [await send(), await send()]
  assert.equal(first.status, 200)
  const [a, b] = (await Promise.all([first.json(), second.json()])) as { data: { id: string } }[]
  assert.equal(a?.data.id, b?.data.id)
  assert.equal((await svc.email.listMessages({ recipient: "ADA@example.com" })).total, 1)
})
