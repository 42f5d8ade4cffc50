/** The promises of `port.ts`, for every driver that talks to a server. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { type SmtpSink, startSmtp } from "../../testing/smtp.ts"
import type { MailPort, OutgoingMail } from "./port.ts"

/** Opens the driver so that what is sent to `@example.com` arrives at the sink. */
export type OpenMail = (t: TestContext, sink: Pick<SmtpSink, "port">) => Promise<MailPort>

const mail = (text: string, recipient = "ada@example.com"): OutgoingMail => ({
  sender: "svc@cloud.test",
  recipient,
  content: Buffer.from(`From: svc@cloud.test\r\nTo: ada@example.com\r\nSubject: s\r\n\r\n${text}`),
})

export const mailConformance = (name: string, open: OpenMail): void => {
  const world = async (t: TestContext) => {
    const sink = await startSmtp(t)
    const port = await open(t, sink)
    t.after(() => port[Symbol.asyncDispose]())
    return { sink, port }
  }

  test(`${name}: the content arrives as the bytes that were given`, async t => {
    const { sink, port } = await world(t)
    const text = ".\r\n..\r\n.QUIT\r\n\r\n \t\r\nend\r\n"
    const outcome = await port.send(mail(text))
    assert.equal(outcome.kind, "accepted")
    assert.equal(outcome.reply?.code, 250)
    const [received] = await sink.received(1)
    assert.deepEqual(received?.content.toString(), mail(text).content.toString())
    assert.deepEqual(received?.recipients, ["ada@example.com"])
    assert.equal(received?.sender, "svc@cloud.test")
  })

  test(`${name}: a server's no is told with its codes, as final only when it is`, async t => {
    const { sink, port } = await world(t)
    sink.refuse("later@example.com", { code: 450, text: "4.2.1 Busy" })
    sink.refuse("never@example.com", { code: 550, text: "5.1.1 Nobody" })
    const later = await port.send(mail("x", "later@example.com"))
    const never = await port.send(mail("x", "never@example.com"))
    sink.script({ code: 554, text: "5.6.0 Spam" }, { code: 451, text: "4.3.0 Disk" })
    const [spam, disk] = [await port.send(mail("x")), await port.send(mail("x"))]
    assert.deepEqual(
      [later, never, spam, disk].map(({ kind, reply }) => [kind, reply?.code, reply?.enhancedCode]),
      [
        ["deferred", 450, "4.2.1"],
        ["rejected", 550, "5.1.1"],
        ["rejected", 554, "5.6.0"],
        ["deferred", 451, "4.3.0"],
      ],
    )
    assert.equal(sink.mails.length, 0)
  })

  test(`${name}: a connection that breaks defers the mail, and the driver does not send it again`, async t => {
    const { sink, port } = await world(t)
    sink.script("drop")
    const outcome = await port.send(mail("x"))
    assert.equal(outcome.kind, "deferred")
    assert.equal((await port.send(mail("y"))).kind, "accepted")
    assert.equal(sink.mails.length, 1)
  })

  test(`${name}: many at once arrive once each`, async t => {
    const { sink, port } = await world(t)
    const texts = Array.from({ length: 50 }, (_, at) => `mail ${at}\r\n`)
    const outcomes = await Promise.all(texts.map(text => port.send(mail(text))))
    assert.ok(outcomes.every(({ kind }) => kind === "accepted"))
    const bodies = sink.mails.map(({ content }) => content.toString().split("\r\n\r\n")[1])
    assert.deepEqual(bodies.sort(), texts.sort())
  })

  test(`${name}: a server that is not there defers the mail`, async t => {
    const sink = await startSmtp(t)
    const port = await open(t, { port: 1 })
    t.after(() => port[Symbol.asyncDispose]())
    const outcome = await port.send(mail("x"))
    assert.equal(outcome.kind, "deferred")
    assert.equal(outcome.reply?.code, null)
    assert.equal(sink.mails.length, 0)
  })
}
