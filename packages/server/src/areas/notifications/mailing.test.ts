import assert from "node:assert/strict"
import { test } from "node:test"
import PostalMime from "postal-mime"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { startSmtp } from "../../testing/smtp.ts"
import { BOTH } from "./testing/settled.ts"

test("who wants mail gets it at the address of the account, and keys have none", async t => {
  const sink = await startSmtp(t)
  const p = await platform(t, { env: { SVC_SMTP_URL: sink.url, SVC_MAIL_FROM: "svc@cloud.test" } })
  const svc = await p.client("acme", ...BOTH)
  const ada = await p.person("acme", "member")
  const { id: adaId, email } = await ada.account.get()
  const channels = ["in_app", "email"] as const
  const input = { title: "Grüße\r\nBcc: eve@example.net", body: "Hello", action_url: "/builds/1" }
  const sent = await svc.notifications.send({ to: adaId, channels: [...channels], ...input })
  assert.deepEqual(sent.channels, { in_app: "stored", email: "queued" })
  const [mail] = await sink.received(1)
  assert.deepEqual([mail?.sender, mail?.recipients], ["svc@cloud.test", [email]])
  const parsed = await PostalMime.parse(mail?.content ?? "")
  assert.match(parsed.subject ?? "", /^Grüße/)
  assert.equal(parsed.bcc, undefined)
  assert.match(parsed.text ?? "", /^Hello\s+http:\/\/\S+\/builds\/1\s*$/)
  await eventually("it is told", async () => {
    const { deliveries } = await ada.notifications.get({ id: sent.id })
    return deliveries[0]?.channel === "email" && deliveries[0].status === "sent"
  })

  await ada.notifications.updatePreferences({ channel_types: { email: false } })
  const refused = await svc.notifications.send({ to: adaId, channels: ["email"], title: "no mail" })
  assert.deepEqual(refused.channels, { email: "skipped" })
  const toKey = await svc.notifications.send({ channels: ["email"], title: "to a key" })
  assert.deepEqual(toKey.channels, { email: "no_address" })
  assert.equal(sink.mails.length, 1)
})

test("without a mail server the channel says that it is unavailable, and digests are refused", async t => {
  const p = await platform(t)
  const ada = await p.person("acme", "owner")
  const { id, channels } = await ada.notifications.send({ title: "x", channels: ["in_app", "email"] })
  assert.deepEqual(channels, { in_app: "stored", email: "unavailable" })
  const [delivery] = (await ada.notifications.get({ id })).deliveries
  assert.deepEqual(
    [delivery?.status, delivery?.reason],
    ["unavailable", "this installation sends no mail: SVC_SMTP_URL is not set"],
  )
  const { status, code } = await ada.notifications.updatePreferences({ digest: { email: "daily" } }).then(
    () => assert.fail("it was not refused"),
    (reason: { status: number; code: string }) => reason,
  )
  assert.deepEqual([status, code], [501, "not_implemented"])
})
