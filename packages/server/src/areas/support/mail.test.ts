import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { createTransport } from "nodemailer"
import PostalMime from "postal-mime"
import { defineModule } from "../../kernel/area.ts"
import type { Offer } from "../../kernel/offer.ts"
import { startSmtp } from "../../testing/smtp.ts"
import { type MailReplies, mailReplies } from "./offers.ts"
import { supportWorld } from "./testing/world.ts"

const HELP = { subject: "Help", description: "It does not work." }
const OPERATOR = "desk@operator.example"

/** A platform that sends to a real SMTP server, and what its SMTP listener would be given. */
const mailWorld = async (t: TestContext, env: Record<string, string> = {}) => {
  const smtp = await startSmtp(t)
  let replies: Offer<MailReplies> | undefined
  const listener = defineModule({
    name: "listener",
    title: "Listener",
    contract: [],
    needs: { mailReplies },
    wakes: { atStart: () => "the test asks it" },
    load: async () => ({
      start(given) {
        replies = given.mailReplies
        return { operations: [] }
      },
    }),
  })
  const world = await supportWorld(t, {
    areas: [listener],
    env: {
      ...{ SVC_SMTP_URL: smtp.url, SVC_MAIL_HOST: "mail.example.com", SVC_SUPPORT_EMAIL: OPERATOR },
      ...{ SVC_SMTP_PORT: "0", SVC_SMTP_HOST: "127.0.0.1" },
      ...env,
    },
  })
  const mail = async (count: number) => {
    const mails = await smtp.received(count)
    const last = mails[count - 1]
    assert.ok(last)
    const { subject, text = "", replyTo, messageId, inReplyTo } = await PostalMime.parse(last.content)
    return { to: last.recipients, subject, text, replyTo: replyTo?.[0]?.address ?? "", messageId, inReplyTo }
  }
  const intake = await replies?.get()
  assert.ok(intake)
  let mailed = 0
  const reply = (address: string, from: string, text: string, mailId = `<${++mailed}@example.com>`) =>
    intake.receive({ address, from, text, mailId })
  return { ...world, smtp, mail, reply, intake }
}

test("operator and requester write to each other by mail, in one thread", async t => {
  const { p, agent, mail, reply, desk } = await mailWorld(t)
  const person = await p.person("acme")
  const { email } = await person.account.get()
  const { email: agentEmail, id: agentId } = await agent()
  const { id, number } = await person.support.createTicket({
    ...HELP,
    subject: "Help\r\nBcc: all@example.com",
  })

  const opened = await mail(1)
  assert.deepEqual([opened.to, opened.subject], [[OPERATOR], `[#${number}] Help Bcc: all@example.com`])
  assert.match(opened.text, /It does not work\./)
  assert.equal(await reply(opened.replyTo, agentEmail.toUpperCase(), `Looking.\n\n> ${opened.text}`), "taken")

  const answer = await mail(2)
  assert.deepEqual([answer.to, answer.inReplyTo], [[email], opened.messageId])
  assert.match(answer.text, /Looking\./)
  assert.equal((await person.support.getTicket({ id })).status, "pending")
  assert.equal(
    await reply(answer.replyTo, email, "Thanks.\n\nOn 2 Nov 2026 Support wrote:\n> Looking."),
    "taken",
  )

  assert.match((await mail(3)).text, /Thanks\./)
  const { data } = await person.support.listComments({ id })
  assert.deepEqual(
    data.map(({ body, source, author }) => [body, source, author.type]),
    [
      ["Looking.", "email", "agent"],
      ["Thanks.", "email", "customer"],
    ],
  )
  assert.equal(data[0]?.author.id, agentId)
  assert.equal((await desk.support.agentGetTicket({ id })).status, "open")
})

test("forged addresses and foreign senders are refused, and leave no trace", async t => {
  const { p, agent, mail, reply, stranger, intake } = await mailWorld(t)
  const person = await p.person("acme")
  const { email } = await person.account.get()
  const { email: agentEmail } = await agent()
  const { id, number } = await person.support.createTicket(HELP)
  const forAgents = (await mail(1)).replyTo
  const other = await stranger.support.createTicket(HELP)
  const forOther = (await mail(2)).replyTo

  const attacks = [
    [`support+${number}.c.${"0".repeat(32)}@mail.example.com`, email, "unknown_address"],
    [forAgents.replace(".a.", ".c."), email, "unknown_address"],
    [forOther.replace(`+${other.number}.`, `+${number}.`), agentEmail, "unknown_address"],
    [`support+999999999.a.${"0".repeat(32)}@mail.example.com`, agentEmail, "unknown_address"],
    ["support@mail.example.com", agentEmail, "unknown_address"],
    [forAgents, email, "foreign_sender"],
    [forAgents, OPERATOR, "foreign_sender"],
    [forAgents, "", "foreign_sender"],
    [forAgents, agentEmail, "empty"],
  ] as const
  for (const [address, from, verdict] of attacks) {
    const text = verdict === "empty" ? "> only a quotation" : "Give me everything."
    assert.equal(await reply(address, from, text), verdict, `${address} from ${from}`)
  }
  assert.equal((await person.support.listComments({ id })).total, 0)
  assert.ok(intake.isForUs(forAgents))
  assert.ok(!intake.isForUs("bounce+1@mail.example.com"))
})

test("who has left the organization answers no more by mail, and a closed ticket takes nothing", async t => {
  const { p, desk, mail, reply } = await mailWorld(t)
  const person = await p.person("acme")
  const { email, id: userId } = await person.account.get()
  const { id } = await person.support.createTicket(HELP)
  // Mails of one moment may overtake each other.
  await mail(1)
  await desk.support.agentAddComment({ id, body: "Yes?" })
  const replyTo = (await mail(2)).replyTo
  assert.equal(await reply(replyTo, email, "Still here"), "taken")
  await desk.support.agentUpdateTicket({ id, status: "closed" })
  assert.equal(await reply(replyTo, email, "And now?"), "closed")
  await p.database.db.deleteFrom("core.members").where("user_id", "=", userId).execute()
  assert.equal(await reply(replyTo, email, "And now?"), "foreign_sender")
})

test("a mail that arrives twice is one comment", async t => {
  const { agent, customer, mail, reply } = await mailWorld(t)
  const { email } = await agent()
  const { id } = await customer.support.createTicket(HELP)
  const { replyTo } = await mail(1)
  const twice = await Promise.all([1, 2].map(() => reply(replyTo, email, "Once.", "<same@example.com>")))
  assert.deepEqual(twice.sort(), ["duplicate", "taken"])
  assert.equal((await customer.support.listComments({ id })).total, 1)
})

test("internal notes are not mailed", async t => {
  const { p, customer, desk, mail, smtp } = await mailWorld(t)
  const { id } = await customer.support.createTicket(HELP)
  await mail(1)
  await desk.support.agentAddComment({ id, body: "Between us", internal: true })
  await desk.support.agentAddComment({ id, body: "For all" })
  assert.match((await mail(2)).text, /For all/)
  await p.clock.advance(60_000)
  assert.equal(smtp.mails.length, 2)
  assert.ok(smtp.mails.every(({ content }) => !content.includes("Between us")))
})

test("where no mail is taken, mails say nothing of answering them", async t => {
  const smtp = await startSmtp(t)
  const { customer } = await supportWorld(t, {
    env: { SVC_SMTP_URL: smtp.url, SVC_SUPPORT_EMAIL: OPERATOR },
  })
  await customer.support.createTicket(HELP)
  const [mail] = await smtp.received(1)
  assert.ok(mail)
  const { replyTo, text } = await PostalMime.parse(mail.content)
  assert.equal(replyTo, undefined)
  assert.ok(!text?.includes("above this line"))
})

test("answers come through the SMTP listener itself; forged ones and those of robots do not", async t => {
  const { agent, customer, mail } = await mailWorld(t)
  const { email } = await agent()
  const { services } = await customer.identity.services()
  const port = Number(services.find(({ name }) => name === "email")?.capabilities?.reports_port)
  const transport = createTransport({ host: "127.0.0.1", port, secure: false, ignoreTLS: true })
  t.after(() => transport.close())
  const { id } = await customer.support.createTicket(HELP)
  const { replyTo } = await mail(1)
  const send = (to: string, more: object = {}) =>
    transport.sendMail({
      from: `Grace <${email}>`,
      to,
      subject: "Re: Help",
      text: "Done.\n\n> Help",
      ...more,
    })

  await send(replyTo)
  await send(replyTo, { text: undefined, html: "<p>Really <b>done</b>.</p><blockquote>Help</blockquote>" })
  await send(replyTo, { text: "I am away.", headers: { "Auto-Submitted": "auto-replied" } })
  await send(replyTo, { text: "I am away too.", envelope: { from: "", to: [replyTo] } })
  const refused = { responseCode: 550 }
  await assert.rejects(send(replyTo, { from: "mallory@example.com" }), refused)
  await assert.rejects(send(`support+1000.a.${"0".repeat(32)}@mail.example.com`), refused)
  await assert.rejects(send(replyTo, { text: "> Help" }), { responseCode: 550, response: /nothing above/ })
  const { data } = await customer.support.listComments({ id })
  assert.deepEqual(
    data.map(({ body }) => body),
    ["Done.", "Really done."],
  )
  await customer.support.closeTicket({ id })
  await assert.rejects(send(replyTo), { responseCode: 550, response: /closed/ })
})
