import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { SvcError } from "@svc/sdk"
import { dkimVerify } from "mailauth/lib/dkim/verify.js"
import PostalMime from "postal-mime"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, platform } from "../../../testing/platform.ts"
import { startSmtp } from "../../../testing/smtp.ts"
import { deliveryWorld } from "../testing/delivery-world.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const statusOf = async (svc: Svc, id: string) => (await svc.email.getMessage({ id })).recipients[0]

const settled = (svc: Svc, id: string, attempts: number) =>
  eventually("it comes about", async () => {
    const recipient = await statusOf(svc, id)
    return recipient && recipient.attempts >= attempts ? recipient : undefined
  })

const kinds = async (svc: Svc, id: string) =>
  (await svc.email.listEvents({ email_id: id })).data.map(({ event }) => event).reverse()

const mail = { to: "ada@example.com", subject: "Hello", text: "Hello" }

test("each recipient gets the mail once, blind copies unseen, whatever its lines begin with", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url, SVC_MAIL_FROM: "svc@cloud.test" } })
  const svc = await p.wide("acme", ...everyScope)
  const { id, recipients } = await svc.email.sendRaw({
    ...{ to: ["Ada <ada@example.com>", "ADA@example.com"], cc: "bob@exämple.de", bcc: "eve@example.net" },
    ...{ subject: "Dots", text: ".\n..\nQUIT\n.\r\nlast" },
    headers: { "X-Order": "7" },
  })
  assert.deepEqual(
    recipients.map(({ email }) => email),
    ["ada@example.com", "bob@xn--exmple-cua.de", "eve@example.net"],
  )
  const mails = await sink.received(3)
  // The server shows international domains as people write them.
  assert.deepEqual(mails.map(({ recipients }) => recipients[0]).sort(), [
    "ada@example.com",
    "bob@exämple.de",
    "eve@example.net",
  ])
  for (const { content, sender } of mails) {
    const parsed = await PostalMime.parse(content)
    assert.equal(sender, "svc@cloud.test")
    assert.equal(parsed.text?.replaceAll("\r\n", "\n").trimEnd(), ".\n..\nQUIT\n.\nlast")
    assert.equal(parsed.headers.find(({ key }) => key === "x-order")?.value, "7")
    assert.doesNotMatch(content.toString(), /eve@/)
  }
  await eventually("it comes about", async () =>
    (await svc.email.getMessage({ id })).status === "delivered" ? true : undefined,
  )
  assert.equal((await svc.email.listInbox({})).total, 0)
  assert.equal(sink.mails.length, 3)
})

test("a mail that is not taken now is tried again after 1, 5, 15 and 60 minutes, 4 hours, then every 8, to 3 days", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url } })
  const svc = await p.wide("acme", ...everyScope)
  sink.refuse("ada@example.com", { code: 451, text: "4.7.1 Greylisted" })
  const { id } = await svc.email.sendRaw(mail)
  const first = await settled(svc, id, 1)
  assert.equal(first.status, "queued")
  assert.match(first.last_error ?? "", /451 4\.7\.1 Greylisted/)
  const delays = [1, 5, 15, 60, 240, ...Array(8).fill(480)].map(minutes => minutes * MINUTE_MS)
  for (const [index, delay] of delays.entries()) {
    await p.clock.advance(delay + 1_000)
    await settled(svc, id, index + 2)
  }
  assert.deepEqual(await kinds(svc, id), ["delivery_delayed", "failed"])
  assert.equal((await statusOf(svc, id))?.status, "failed")
  await p.clock.advance(24 * HOUR_MS)
  assert.equal((await statusOf(svc, id))?.attempts, delays.length + 1)
})

test("a mail that is taken at a later attempt is delivered, and the delay is told once", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url } })
  const svc = await p.wide("acme", ...everyScope)
  sink.script({ code: 452, text: "4.2.2 Full" }, "drop")
  const { id } = await svc.email.sendRaw(mail)
  await settled(svc, id, 1)
  await p.clock.advance(MINUTE_MS + 1_000)
  await settled(svc, id, 2)
  await p.clock.advance(5 * MINUTE_MS + 1_000)
  assert.equal((await settled(svc, id, 3)).status, "delivered")
  assert.deepEqual(await kinds(svc, id), ["sent", "delivered"])
  assert.equal(sink.mails.length, 1)
})

test("an address that is not there bounces at once and gets nothing more; others of the mail do", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url } })
  const svc = await p.wide("acme", ...everyScope)
  sink.refuse("gone@example.com", { code: 550, text: "5.1.1 No such user" })
  sink.refuse("policy@example.com", { code: 554, text: "5.7.1 Policy" })
  const to = ["gone@example.com", "policy@example.com", "ada@example.com"]
  const { id } = await svc.email.sendRaw({ ...mail, to })
  const message = await eventually("it comes about", async () => {
    const found = await svc.email.getMessage({ id })
    return found.recipients.every(({ status }) => status !== "queued") ? found : undefined
  })
  assert.deepEqual(
    message.recipients.map(({ status }) => status),
    ["bounced", "bounced", "delivered"],
  )
  assert.equal(message.status, "partially_delivered")
  const { data } = await svc.email.listEvents({ event: "bounced" })
  const bounce = data.find(({ recipient }) => recipient === "gone@example.com")?.details
  assert.deepEqual(
    { smtp: bounce?.smtp_code, enhanced: bounce?.enhanced_code, bounce: bounce?.bounce },
    { smtp: 550, enhanced: "5.1.1", bounce: { type: "permanent", sub_type: "5.1.1" } },
  )
  const again = await svc.email.sendRaw({ ...mail, to })
  assert.deepEqual(
    again.recipients.map(({ status }) => status),
    ["suppressed", "queued", "queued"],
  )
  assert.equal((await kinds(svc, again.id)).filter(kind => kind === "suppressed").length, 1)
})

test("a scheduled mail leaves at its time, and a cancelled one never", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url } })
  const svc = await p.wide("acme", ...everyScope)
  const at = new Date(p.clock.now() + HOUR_MS).toISOString()
  const kept = await svc.email.sendRaw({ ...mail, scheduled_at: at })
  const cancelled = await svc.email.sendRaw({ ...mail, to: "bob@example.com", scheduled_at: at })
  assert.equal(kept.status, "scheduled")
  assert.equal((await svc.email.cancelMessage({ id: cancelled.id })).status, "cancelled")
  await p.clock.advance(HOUR_MS - 5_000)
  assert.equal((await svc.email.getMessage({ id: kept.id })).status, "scheduled")
  assert.equal(sink.mails.length, 0)
  await p.clock.advance(10_000)
  await sink.received(1)
  await eventually("it comes about", async () =>
    (await statusOf(svc, kept.id))?.status === "delivered" ? true : undefined,
  )
  assert.deepEqual(
    sink.mails.flatMap(({ recipients }) => recipients),
    ["ada@example.com"],
  )
  assert.equal((await svc.email.getMessage({ id: cancelled.id })).status, "cancelled")
  await assert.rejects(
    svc.email.cancelMessage({ id: kept.id }),
    error => error instanceof SvcError && error.code === "invalid_state_transition",
  )
  await assert.rejects(
    svc.email.sendRaw({ ...mail, scheduled_at: new Date(p.clock.now() + 31 * 24 * HOUR_MS).toISOString() }),
    error => error instanceof SvcError && error.code === "invalid_parameter",
  )
})

test("a wrong password of the relay delays mails and bounces none", async t => {
  const sink = await startSmtp(t, { password: "right" })
  const url = (password: string) => `smtp://user:${password}@127.0.0.1:${sink.port}`
  const p = await platform(t, { env: { SVC_SMTP_URL: url("wrong") } })
  const svc = await p.wide("acme", ...everyScope)
  const { id } = await svc.email.sendRaw(mail)
  assert.equal((await settled(svc, id, 1)).status, "queued")
  const right = await platform(t, { env: { SVC_SMTP_URL: url("right") } })
  await (await right.wide("acme", ...everyScope)).email.sendRaw(mail)
  assert.equal((await sink.received(1))[0]?.user, "user")
})

test("an organization's own domain sends once it is verified and enabled, signed; before that it is refused", async t => {
  const sink = await startSmtp(t)
  const world = await deliveryWorld(t, { env: { SVC_SMTP_URL: sink.url } })
  const { svc } = world
  const from = "App <hi@mail.example.com>"
  const isRefused = (error: unknown) =>
    error instanceof SvcError && error.code === "email_domain_not_enabled" && error.status === 503
  await assert.rejects(svc.email.sendRaw({ ...mail, from }), isRefused)
  const domain = await world.verifiedDomain("mail.example.com")
  await svc.email.sendRaw({ ...mail, from })
  const [received] = await sink.received(1)
  const record = domain.records.find(({ record }) => record === "DKIM")
  const { results } = await dkimVerify(received?.content ?? Buffer.alloc(0), {
    resolver: async (name: string) => {
      assert.equal(name, record?.name)
      return [[record?.value ?? ""]]
    },
  })
  assert.equal(results[0]?.status.result, "pass")
  assert.equal(results[0]?.status.aligned, "mail.example.com")
  await svc.email.updateSettings({ own_domain_delivery_enabled: false })
  await assert.rejects(svc.email.sendRaw({ ...mail, from }), isRefused)
})

test("an organization's own relay is used, unless it lies in this network", async t => {
  const sink = await startSmtp(t, { password: "secret" })
  const relay = {
    host: "127.0.0.1",
    port: sink.port,
    security: "none",
    username: "u",
    password: "secret",
  } as const
  const open = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1/32" } })
  const svc = await open.wide("acme", ...everyScope)
  await svc.email.updateSettings({ delivery: { mode: "relay", relay }, own_domain_delivery_enabled: true })
  await svc.email.sendRaw({ ...mail, from: "hi@any.example" })
  const [received] = await sink.received(1)
  assert.equal(received?.user, "u")
  assert.equal(received?.sender, "hi@any.example")

  // A name that was fine when it was saved may lead into this network later: the connection is judged again.
  const closed = await platform(t)
  const other = await closed.wide("acme", ...everyScope)
  const { organizationId } = await closed.tenant("acme")
  await other.email.updateSettings({
    delivery: { mode: "relay", relay: { ...relay, host: "smtp.example.com" } },
  })
  await closed.database.db
    .updateTable("email.settings")
    .set({ relay_host: "127.0.0.1" })
    .where("organization_id", "=", organizationId)
    .execute()
  const { id } = await other.email.sendRaw(mail)
  const refused = await settled(other, id, 1)
  assert.equal(refused.status, "queued")
  assert.match(refused.last_error ?? "", /not on the public Internet/)
  assert.equal(sink.connections, 1)
})
