import assert from "node:assert/strict"
import { test } from "node:test"
import { startDns } from "../../testing/dns.ts"
import { createDns } from "./resolver.ts"

const { signal } = new AbortController()
const everywhere = () => true

test("records are given as they were published, texts joined and names without their final dot", async t => {
  const dns = await startDns(t)
  const port = createDns({ servers: [dns.address], asksZones: false, mayAsk: everywhere })
  dns.answer("a.example.com", [
    { type: "TXT", data: ["v=DKIM1; ", "k=rsa"] },
    { type: "TXT", data: "other" },
    { type: "MX", data: "MX.example.com", priority: 10 },
  ])
  dns.answer("c.example.com", [{ type: "CNAME", data: "Target.example.com" }])
  assert.deepEqual(await port.look("a.example.com", "TXT", signal), {
    kind: "found",
    values: ["v=DKIM1; k=rsa", "other"],
  })
  assert.deepEqual(await port.look("a.example.com", "MX", signal), {
    kind: "found",
    values: ["10 mx.example.com"],
  })
  assert.deepEqual(await port.look("c.example.com", "CNAME", signal), {
    kind: "found",
    values: ["target.example.com"],
  })
})

test("that there is no record and that nobody says so are two things", async t => {
  const dns = await startDns(t)
  const port = createDns({ servers: [dns.address], asksZones: false, mayAsk: everywhere })
  dns.answer("empty.example.com", [])
  dns.answer("broken.example.com", "fail")
  dns.answer("refused.example.com", "refuse")
  assert.deepEqual(await port.look("none.example.com", "TXT", signal), { kind: "missing" })
  assert.deepEqual(await port.look("empty.example.com", "TXT", signal), { kind: "missing" })
  for (const name of ["broken.example.com", "refused.example.com"])
    assert.equal((await port.look(name, "TXT", signal)).kind, "unanswered")
  const aborted = AbortSignal.abort()
  assert.equal((await port.look("none.example.com", "TXT", aborted)).kind, "unanswered")
})

test("the zone's own name server is believed before one that keeps old answers", async t => {
  const [old, own] = [await startDns(t), await startDns(t)]
  const port = Number(own.address.split(":")[1])
  old.answer("example.com", [{ type: "NS", data: "ns.host.test" }])
  old.answer("ns.host.test", [{ type: "A", data: "127.0.0.1" }])
  old.answer("mail.example.com", [{ type: "TXT", data: "old" }])
  own.answer("mail.example.com", [{ type: "TXT", data: "new" }])
  const asked = createDns({ servers: [old.address], asksZones: true, mayAsk: everywhere, port })
  assert.deepEqual(await asked.look("mail.example.com", "TXT", signal), { kind: "found", values: ["new"] })
  own.answer("mail.example.com", "refuse")
  assert.deepEqual(await asked.look("mail.example.com", "TXT", signal), { kind: "found", values: ["old"] })
})

test("a zone that names an address inside our network has nothing sent there", async t => {
  const [general, inside] = [await startDns(t), await startDns(t)]
  const port = Number(inside.address.split(":")[1])
  general.answer("example.com", [{ type: "NS", data: "ns.host.test" }])
  general.answer("ns.host.test", [{ type: "A", data: "127.0.0.1" }])
  const dns = createDns({ servers: [general.address], asksZones: true, mayAsk: () => false, port })
  assert.deepEqual(await dns.look("mail.example.com", "TXT", signal), { kind: "missing" })
  assert.deepEqual(inside.questions, [])
})
