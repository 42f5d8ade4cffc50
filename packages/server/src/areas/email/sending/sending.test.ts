import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { type Svc, SvcError } from "@svc/sdk"
import PostalMime from "postal-mime"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, platform } from "../../../testing/platform.ts"

const DAY_MS = 86_400_000

const captured = (svc: Svc, count: number) =>
  eventually("it comes about", async () => {
    const { data } = await svc.email.listInbox({})
    return data.length >= count ? data : undefined
  })

test("a first mail needs no settings: it is in the mailbox of the installation", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const accepted = await svc.email.sendRaw({
    to: ["Ada <ada@example.com>"],
    subject: "Grüße ✓",
    html: "<h1>Hello</h1><p>Ada &amp; friends</p>",
    tags: [{ name: "kind", value: "greeting" }],
    attachments: [{ filename: "a.txt", content: Buffer.from("attached").toString("base64") }],
  })
  assert.equal(accepted.status, "queued")
  assert.deepEqual(accepted.recipients, [{ email: "ada@example.com", status: "queued" }])

  const [item] = await captured(svc, 1)
  assert.equal(item?.subject, "Grüße ✓")
  assert.equal(item?.to, "ada@example.com")
  const mail = await svc.email.getInbox({ id: item?.id ?? "" })
  assert.match(mail.text ?? "", /HELLO|Hello/)
  assert.match(mail.text ?? "", /Ada & friends/)
  assert.deepEqual(
    mail.attachments.map(({ filename, content }) => [filename, Buffer.from(content, "base64").toString()]),
    [["a.txt", "attached"]],
  )
  const parsed = await PostalMime.parse(Buffer.from(mail.raw, "latin1"))
  assert.equal(parsed.subject, "Grüße ✓")
  assert.deepEqual(parsed.to, [{ name: "Ada", address: "ada@example.com" }])
  assert.equal(parsed.messageId, accepted.message_id)

  const message = await svc.email.getMessage({ id: accepted.id })
  assert.equal(message.status, "delivered")
  assert.equal(message.recipients[0]?.captured, true)
  const events = await svc.email.listEvents({ email_id: accepted.id })
  assert.deepEqual(events.data.map(({ event }) => event).sort(), ["delivered", "sent"])
  assert.equal(events.data[0]?.details.captured, true)
  assert.deepEqual(events.data[0]?.tags, { kind: "greeting" })

  await svc.email.deleteInbox({ id: item?.id ?? "" })
  assert.equal((await svc.email.listInbox({})).total, 0)
})

test("the page of captured mails runs its own script alone, and shows a mail's HTML where nothing runs", async t => {
  const p = await platform(t)
  const response = await p.request("/inbox")
  assert.equal(response.status, 200)
  assert.match(response.headers.get("content-type") ?? "", /^text\/html/)
  const policy = response.headers.get("content-security-policy") ?? ""
  const page = await response.text()
  const [, script = ""] = /<script>(.*)<\/script>/s.exec(page) ?? []
  const digest = createHash("sha256").update(script).digest("base64")
  assert.ok(policy.includes(`script-src 'sha256-${digest}'`))
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.match(script, /setAttribute\("sandbox", ""\)/)
  assert.doesNotMatch(script, /innerHTML|outerHTML|document\.write|eval/)
})

test("a mail is kept for ninety days", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  await svc.email.sendRaw({ to: "ada@example.com", subject: "s", text: "t" })
  await captured(svc, 1)
  await p.clock.advance(89 * DAY_MS)
  assert.equal((await svc.email.listMessages({})).total, 1)
  await p.clock.advance(3 * DAY_MS)
  await eventually("it comes about", async () =>
    (await svc.email.listMessages({})).total === 0 ? true : undefined,
  )
  assert.equal((await svc.email.listInbox({})).total, 0)
})

test("a schedule sends a mail made from a template, and refuses one that is not there", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  await svc.email.createTemplate({ name: "weekly", subject: "Week {{ n }}", html: "<p>{{ n }}</p>" })
  const target = { type: "email", template: "weekly", to: "ada@example.com", data: { n: 7 } } as const
  const schedule = { name: "weekly", cron: "0 3 * * *", target }
  const missing = svc.cron.create({ ...schedule, target: { ...target, template: "none" } })
  await assert.rejects(missing, error => error instanceof SvcError && error.code === "template_not_found")
  for (const to of [7, {}, [null], undefined]) {
    const wrong = { ...schedule, target: { ...target, to: to as unknown as string } }
    await assert.rejects(svc.cron.create(wrong), { status: 400, code: "validation_failed" })
  }
  const { id } = await svc.cron.create(schedule)
  await svc.cron.trigger({ id })
  const [item] = await captured(svc, 1)
  assert.equal(item?.subject, "Week 7")
})
