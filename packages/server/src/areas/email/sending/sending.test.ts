import assert from "node:assert/strict"
import { test } from "node:test"
import PostalMime from "postal-mime"
import type { Svc } from "@svc/sdk"
import { everyScope, platform } from "../../../testing/platform.ts"
import { until } from "../testing/until.ts"

const captured = (svc: Svc, count: number) =>
  until(async () => {
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
