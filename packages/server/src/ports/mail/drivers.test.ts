import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { startDns } from "../../testing/dns.ts"
import { startSmtp } from "../../testing/smtp.ts"
import { mailConformance } from "./conformance.ts"
import { createCaptureMail } from "./drivers/capture.ts"
import { openDirectMail } from "./drivers/direct.ts"
import { openSmtpMail } from "./drivers/smtp.ts"
import { responseOf } from "./port.ts"

/** Names of the test's zone are this machine's. */
const connectHere = async (_host: string, port: number) => {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  return socket
}

const mail = (recipient: string) => ({
  sender: "svc@cloud.test",
  recipient,
  content: Buffer.from("Subject: s\r\n\r\nHello\r\n"),
})

mailConformance("smtp", async (_t, { port }) =>
  openSmtpMail({
    relay: {
      ...{ host: "127.0.0.1", port, security: "none", username: null, password: null, maxPerSecond: null },
    },
    helo: "cloud.test",
  }),
)

mailConformance("direct", async (t, { port }) => {
  const dns = await startDns(t)
  dns.answer("example.com", [{ type: "MX", data: "mx.example.com", priority: 10 }])
  return openDirectMail({ helo: "cloud.test", dnsServers: [dns.address], connect: connectHere, port })
})

test("direct: the preferred server is asked, the next one when it is not there, the domain itself without MX", async t => {
  const sink = await startSmtp(t)
  const dns = await startDns(t)
  dns.answer("two.test", [
    { type: "MX", data: "second.two.test", priority: 20 },
    { type: "MX", data: "first.two.test", priority: 10 },
  ])
  dns.answer("bare.test", [{ type: "A", data: "127.0.0.1" }])
  dns.answer("null.test", [{ type: "MX", data: "", priority: 0 }])
  const asked: string[] = []
  const port = openDirectMail({
    ...{ helo: "cloud.test", dnsServers: [dns.address], port: sink.port },
    connect: async (host, port) => {
      asked.push(host)
      if (host === "first.two.test") throw new Error("it is not there")
      return connectHere(host, port)
    },
  })
  t.after(() => port[Symbol.asyncDispose]())
  assert.equal((await port.send(mail("a@two.test"))).kind, "accepted")
  assert.deepEqual(asked, ["first.two.test", "second.two.test"])
  assert.equal((await port.send(mail("a@bare.test"))).kind, "accepted")
  assert.equal(asked.at(-1), "bare.test")
  assert.equal((await port.send(mail("a@null.test"))).reply?.enhancedCode, "5.1.10")
  assert.equal((await port.send(mail("a@nowhere.test"))).reply?.enhancedCode, "5.1.2")
})

test("smtp: STARTTLS that is insisted on is not done without", async t => {
  const sink = await startSmtp(t)
  const port = openSmtpMail({
    relay: {
      ...{ host: "127.0.0.1", port: sink.port, security: "starttls", username: null, password: null },
      maxPerSecond: null,
    },
    helo: "cloud.test",
  })
  t.after(() => port[Symbol.asyncDispose]())
  assert.equal((await port.send(mail("a@example.com"))).kind, "deferred")
  assert.equal(sink.mails.length, 0)
})

test("what is kept of a server's words is bounded, and has no character that a database refuses", () => {
  const kept = responseOf(`550 5.1.1 a\0b ${"😀".repeat(400)}`)
  assert.equal(kept.length, 500)
  assert.ok(kept.startsWith("550 5.1.1 ab ") && kept.isWellFormed())
})

test("capture: a mail stays, and its taker is told so", async () => {
  const port = createCaptureMail()
  assert.equal(port.capabilities.by, "mailbox")
  assert.deepEqual(await port.send(mail("a@example.com")), { kind: "accepted", reply: null })
})
