import assert from "node:assert/strict"
import { connect } from "node:net"
import { test } from "node:test"
import { everyScope } from "../../../testing/platform.ts"
import { arf, reports } from "../testing/reports.ts"
import { converse, type ReportsWorld, reportsWorld } from "../testing/reports-world.ts"

const eventsOf = async ({ svc }: ReportsWorld, id: string) =>
  (await svc.email.listEvents({ email_id: id })).data.map(({ event }) => event).sort()

test("a bounce that comes later is recorded once, and its address suppressed", async t => {
  const world = await reportsWorld(t)
  const { svc, verifiedDomain, report } = world
  await verifiedDomain("mail.example.com")
  const { id, returnPath } = await world.send("nobody@example.org")
  assert.match(returnPath, /^bounce\+[0-9a-f]{32}\.[0-9a-f]{20}@bounce\.mail\.example\.com$/)
  for (const path of [returnPath, returnPath.toUpperCase()])
    assert.match(await report(path, reports.postfix), /^250/)
  assert.deepEqual(await eventsOf(world, id), ["bounced", "delivered", "sent"])
  const [bounced] = (await svc.email.listEvents({ email_id: id, event: "bounced" })).data
  assert.deepEqual(bounced?.details.bounce, { type: "permanent", sub_type: "5.1.1" })
  const { data } = await svc.email.listSuppression()
  assert.deepEqual(
    data.map(({ email, reason, origin, source_email_id }) => [email, reason, origin, source_email_id]),
    [["nobody@example.org", "hard_bounce", "system", id]],
  )
  const stats = await svc.email.stats()
  assert.deepEqual([stats.sent, stats.bounced, stats.bounced_permanent], [1, 1, 1])
})

test("a full mailbox bounces without being suppressed, a delay is told, and answers of people are nothing", async t => {
  const world = await reportsWorld(t)
  await world.verifiedDomain("mail.example.com")
  const full = await world.send("full@example.org")
  for (let n = 0; n < 3; n += 1) assert.match(await world.report(full.returnPath, reports.delayed), /^250/)
  assert.match(await world.report(full.returnPath, reports.full), /^250/)
  assert.deepEqual(await eventsOf(world, full.id), ["bounced", "delivered", "delivery_delayed", "sent"])
  const away = await world.send("away@example.org")
  assert.match(await world.report(away.returnPath, reports.absence, "away@example.org"), /^250/)
  assert.deepEqual(await eventsOf(world, away.id), ["delivered", "sent"])
  assert.equal((await world.svc.email.listSuppression()).total, 0)
})

test("a complaint is recorded and suppressed, whether it comes to the return path or to the common address", async t => {
  const world = await reportsWorld(t)
  await world.verifiedDomain("mail.example.com")
  const [one, two] = [await world.send("one@example.org"), await world.send("two@example.org")]
  assert.match(await world.report(one.returnPath, arf("abuse", one.returnPath), "fbl@example.org"), /^250/)
  assert.match(
    await world.report("complaints@mx.svc.test", arf("abuse", two.returnPath), "fbl@example.org"),
    /^250/,
  )
  for (const { id } of [one, two])
    assert.deepEqual(await eventsOf(world, id), ["complained", "delivered", "sent"])
  assert.equal((await world.svc.email.listSuppression({ reason: "complaint" })).total, 2)

  // Who does not want it so keeps mailing.
  await world.svc.email.updateSettings({
    ...{ own_domain_delivery_enabled: true, suppress_on: { complaint: false } },
  })
  const three = await world.send("three@example.org")
  await world.report(three.returnPath, arf("abuse", three.returnPath))
  assert.equal((await world.svc.email.listSuppression({ reason: "complaint" })).total, 2)
})

test("the listener relays nothing, and takes no address that we did not make, nor a mail that is too large", async t => {
  const world = await reportsWorld(t)
  await world.verifiedDomain("mail.example.com")
  const { id, returnPath } = await world.send("nobody@example.org")
  const [local = "", domain = ""] = returnPath.split("@")
  const flipped = local.endsWith("0") ? `${local.slice(0, -1)}1` : `${local.slice(0, -1)}0`
  const wrong = [
    ...["someone@gmail.example", "postmaster@mail.example.com", `${local}@evil.example`],
    ...[`${flipped}@${domain}`, `bounce+${"0".repeat(32)}.${"0".repeat(20)}@${domain}`],
    ...["someone%gmail.example@mx.svc.test", "@gmail.example:complaints@mx.svc.test.evil.example"],
  ]
  const answers = await converse(
    world.port,
    ...["EHLO mx.example.org", "MAIL FROM:<spammer@evil.example>"],
    ...wrong.map(address => `RCPT TO:<${address}>`),
    "DATA",
  )
  for (const answer of answers.slice(3, 3 + wrong.length)) assert.match(answer, /^5\d\d/)
  assert.match(answers.at(-1) ?? "", /^5\d\d/)
  assert.doesNotMatch(answers[1] ?? "", /AUTH/)

  // A forged complaint at the common address names a mail that nobody signed for.
  const forged = `${flipped}@${domain}`
  assert.match(await world.report("complaints@mx.svc.test", arf("abuse", forged)), /^250/)
  assert.deepEqual(await eventsOf(world, id), ["delivered", "sent"])

  const guesses = Array.from({ length: 12 }, (_, n) => `RCPT TO:<guess${n}@mail.example.com>`)
  const shown = await converse(world.port, "EHLO x.example", "MAIL FROM:<>", ...guesses)
  assert.match(shown.at(-1) ?? "", /^421/)

  const [, , large = ""] = await converse(world.port, "EHLO x.example", "MAIL FROM:<> SIZE=99000000")
  assert.match(large, /^552/)
})

test("one address has only so many connections", async t => {
  const { port } = await reportsWorld(t)
  const sockets = Array.from({ length: 12 }, () => connect(port, "127.0.0.1"))
  t.after(() => sockets.forEach(socket => void socket.destroy()))
  const greetings = await Promise.all(
    sockets.map(
      socket =>
        new Promise<string>(resolve => socket.once("data", chunk => resolve(String(chunk).slice(0, 3)))),
    ),
  )
  assert.deepEqual([greetings.filter(code => code === "220").length, greetings.includes("421")], [10, true])
})

test("another organization's domain does not take this one's reports", async t => {
  const world = await reportsWorld(t)
  await world.verifiedDomain("mail.example.com")
  const { returnPath } = await world.send("nobody@example.org")
  const other = await world.p.wide("globex", ...everyScope)
  const made = await other.email.addDomain({ domain: "globex.example.com" })
  world.publish(made)
  await other.email.verifyDomain({ id: made.id })
  const [local] = returnPath.split("@")
  assert.match(await world.report(`${local}@bounce.globex.example.com`, reports.postfix), /^5/)
})
