import assert from "node:assert/strict"
import { once } from "node:events"
import { connect as connectHttp2, createSecureServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import tls from "node:tls"
import { generate } from "selfsigned"
import { startDns } from "../../testing/dns.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { createOutbound } from "./open.ts"

const NEVER = new AbortController().signal

const start = async (t: TestContext, outboundAllow: readonly string[]) => {
  const dns = await startDns(t)
  const outbound = createOutbound({
    ...{ outboundAllow, dnsServers: [dns.address] },
    ...{ mode: "development", baseUrl: "https://cloud.example.com" },
  })
  t.after(() => outbound[Symbol.asyncDispose]())
  return { dns, outbound }
}

test("a connection speaks HTTP/2 where the host wants it, and its certificate is checked", async t => {
  const { dns, outbound } = await start(t, ["127.0.0.1"])
  const { private: key, cert } = await generate([{ name: "commonName", value: "push.test" }], {
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "push.test" }] },
    ],
  })
  const server = createSecureServer({ key, cert })
  server.on("stream", stream => {
    stream.respond({ ":status": 200 })
    stream.end("hello")
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => void server.close())
  for (const name of ["push.test", "other.test"]) dns.answer(name, [{ type: "A", data: "127.0.0.1" }])
  const { port } = server.address() as AddressInfo
  const url = `https://push.test:${port}`

  assert.equal((await outbound.connect(url, NEVER)).kind, "tls")
  const trusted = tls.getCACertificates()
  t.after(() => tls.setDefaultCACertificates(trusted))
  tls.setDefaultCACertificates([...trusted, cert])
  assert.equal((await outbound.connect(`https://other.test:${port}`, NEVER)).kind, "tls")
  const made = await outbound.connect(url, NEVER)
  assert.ok(made.kind === "connected")
  const session = connectHttp2(url, { createConnection: () => made.socket })
  t.after(() => session.destroy())
  const stream = session.request({ ":path": "/" })
  let text = ""
  for await (const chunk of stream.setEncoding("utf8")) text += chunk
  assert.equal(text, "hello")
})

test("a connection goes where a request may go, and nowhere else", async t => {
  const { dns, outbound } = await start(t, [])
  const receiver = await startReceiver(t)
  dns.answer("inside.test", [{ type: "A", data: "127.0.0.1" }])
  const targets = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "inside.test", "localhost"]
  for (const host of targets)
    assert.equal((await outbound.connect(`http://${host}:${receiver.port}/`, NEVER)).kind, "refused", host)
  assert.equal((await outbound.connect("https://169.254.169.254/", NEVER)).kind, "refused")
  assert.equal((await outbound.connect("not a url", NEVER)).kind, "refused")
  assert.equal(receiver.connections, 0)
})

test("a connection that its caller gave up does not come about", async t => {
  const { outbound } = await start(t, ["127.0.0.1"])
  const receiver = await startReceiver(t)
  assert.equal((await outbound.connect(receiver.url, AbortSignal.abort())).kind, "aborted")
})
