import assert from "node:assert/strict"
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import tls from "node:tls"
import { generate } from "selfsigned"
import { startDns } from "../../testing/dns.ts"
import { answer, closeAtOnce, closeEarly, flood, hang, startReceiver } from "../../testing/receiver.ts"
import { createOutbound } from "./open.ts"
import { OutboundError } from "./outbound.ts"

const start = async (t: TestContext) => {
  const dns = await startDns(t)
  const outbound = createOutbound({
    ...{ outboundAllow: ["127.0.0.1"], dnsServers: [dns.address] },
    ...{ mode: "development", baseUrl: "https://cloud.example.com" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  return { dns, outbound }
}

test("a connection serves again after an answer, and never after a failure", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  const { url } = receiver
  const failures = [closeEarly, closeAtOnce, hang, flood(2 ** 24)]
  receiver.script(
    answer(200),
    answer(500),
    ...failures.flatMap(failure => [failure, answer(200), answer(200)]),
  )
  for (let count = 0; count < 2 + 3 * failures.length; count++) {
    const isHanging = count === 2 + 3 * failures.indexOf(hang)
    await outbound.request({ url, method: "POST", timeoutMs: isHanging ? 5_000 : 30_000 })
  }
  const used = receiver.requests.map(({ connection }) => connection)
  assert.deepEqual(used, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5])
})

test("a connection whose answer was streamed serves again, unless the stream was given up", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  receiver.script(answer(200, {}, Buffer.alloc(300_000)))
  for (const isRead of [true, true, false, true]) {
    const opened = await outbound.open({ url: receiver.url, responseBytesMax: 300_000 })
    assert.ok(opened.kind === "answered")
    if (isRead) assert.equal((await buffer(opened.body)).length, 300_000)
    else opened.body.destroy()
  }
  const used = receiver.requests.map(({ connection }) => connection)
  assert.deepEqual(used, [1, 1, 1, 2])
})

test("a connection that the receiver closed while it idled is replaced", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  receiver.script(reply => {
    reply.once("close", () => reply.req.socket.destroy())
    reply.end("ok")
  })
  const idempotent = { url: receiver.url, method: "POST", body: "x", idempotent: true } as const
  for (const request of [{ url: receiver.url }, { url: receiver.url }, idempotent, idempotent]) {
    assert.equal((await outbound.request(request)).kind, "answered")
    await receiver.abandoned()
  }
  assert.equal(receiver.connections, 4)
})

test("a request that may not be repeated is sent once, whatever becomes of it", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  receiver.script(answer(200), closeAtOnce)
  const { url } = receiver
  await outbound.request({ url })
  const posted = await outbound.request({ url, method: "POST", body: "x" })
  assert.deepEqual([posted.kind, receiver.requests.length], ["broken", 2])
})

test("requests to one origin share 64 connections, and each gets its turn", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  const requests = Array.from({ length: 300 }, () => outbound.request({ url: receiver.url }))
  const outcomes = await Promise.all(requests)
  assert.ok(outcomes.every(({ kind }) => kind === "answered"))
  assert.ok(receiver.connections <= 64, `${receiver.connections} connections`)
})

test("who waits for a turn leaves at its deadline, and the turn goes to the next", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  const { url } = receiver
  receiver.script(...Array.from({ length: 64 }, () => hang), answer(200))
  const holding = new AbortController()
  const held = Array.from({ length: 64 }, () => outbound.request({ url, signal: holding.signal }))
  await receiver.received(64)
  const impatient = await outbound.request({ url, timeoutMs: 50 })
  assert.equal(impatient.kind, "timeout")
  const patient = outbound.request({ url })
  holding.abort()
  assert.equal((await patient).kind, "answered")
  assert.ok((await Promise.all(held)).every(({ kind }) => kind === "aborted"))
})

test("a caller that gives up ends its request at every stage", async t => {
  const { dns, outbound } = await start(t)
  const receiver = await startReceiver(t)
  dns.answer("silent.test", "silence")
  receiver.script(hang, flood(2 ** 30))
  const early = await outbound.request({ url: receiver.url, signal: AbortSignal.abort() })
  assert.deepEqual([early.kind, receiver.connections], ["aborted", 0])

  const resolving = new AbortController()
  const unresolved = outbound.request({ url: "http://silent.test/", signal: resolving.signal })
  resolving.abort()
  assert.equal((await unresolved).kind, "aborted")

  const waiting = new AbortController()
  const body = new Readable({ read: () => undefined })
  const unanswered = outbound.request({ url: receiver.url, method: "POST", body, signal: waiting.signal })
  waiting.abort()
  assert.equal((await unanswered).kind, "aborted")
  assert.equal(body.destroyed, true)

  receiver.script(flood(2 ** 30))
  const reading = new AbortController()
  const opened = await outbound.open({ url: receiver.url, signal: reading.signal, responseBytesMax: 2 ** 30 })
  assert.ok(opened.kind === "answered")
  const read = assert.rejects(
    async () => {
      for await (const _ of opened.body) reading.abort()
    },
    (error: unknown) => error instanceof OutboundError && error.reason.kind === "aborted",
  )
  await read
  await receiver.abandoned()
})

test("requests under way end when the client is closed, and none begins afterwards", async t => {
  const { outbound } = await start(t)
  const receiver = await startReceiver(t)
  receiver.script(hang)
  const waiting = outbound.request({ url: receiver.url })
  await receiver.received(1)
  await outbound[Symbol.asyncDispose]()
  assert.equal((await waiting).kind, "aborted")
  assert.equal((await outbound.request({ url: receiver.url })).kind, "aborted")
  await receiver.abandoned()
})

test("a refused request destroys the body that it was given", async t => {
  const { outbound } = await start(t)
  const body = Readable.from(["x"])
  const outcome = await outbound.request({ url: "http://10.0.0.1/", method: "POST", body })
  assert.deepEqual([outcome.kind, body.destroyed], ["refused", true])
})

test("a certificate must be valid for the name, whatever the environment says", async t => {
  const { dns, outbound } = await start(t)
  const { private: key, cert } = await generate([{ name: "commonName", value: "hook.test" }], {
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "hook.test" }] },
    ],
  })
  const receiver = await startReceiver(t, { tls: { key, cert } })
  const plain = await startReceiver(t)
  for (const name of ["hook.test", "other.test"]) dns.answer(name, [{ type: "A", data: "127.0.0.1" }])
  const kindOf = async (url: string) => (await outbound.request({ url })).kind
  const hook = `https://hook.test:${receiver.port}/`

  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  assert.equal(await kindOf(hook), "tls")
  const trusted = tls.getCACertificates()
  t.after(() => tls.setDefaultCACertificates(trusted))
  tls.setDefaultCACertificates([...trusted, cert])
  assert.equal(await kindOf(hook), "answered")
  assert.equal(await kindOf(`https://other.test:${receiver.port}/`), "tls")
  assert.equal(await kindOf(`https://127.0.0.1:${receiver.port}/`), "tls")
  assert.equal(await kindOf(`https://hook.test:${plain.port}/`), "tls")
  assert.equal(receiver.requests.length, 1)
})
