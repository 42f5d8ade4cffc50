/** HTTPS for custom domains: whose certificate answers, what goes through, and what an attacker gets. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2"
import { request as httpsRequest, type RequestOptions } from "node:https"
import { connect as connectTcp, type LookupFunction } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { promisify } from "node:util"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { freePort } from "../../testing/ports.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { certificateFor } from "./testing/certificates.ts"
import { domainsWorld } from "./testing/world.ts"

const run = promisify(execFile)
const NAME = "shop.example.com"
const OWN = "cloud.example.net"
const HOUR_MS = 3_600_000

/** Names of tests are known to no name server. */
const toThisMachine: LookupFunction = (_name, _options, done) =>
  done(null, [{ address: "127.0.0.1", family: 4 }])

const tlsWorld = async (t: TestContext, env: Record<string, string> = {}) => {
  const port = await freePort()
  const world = await domainsWorld(t, { env: { SVC_TLS_PORT: String(port), ...env } })
  const give = async (id: string, host = NAME) => {
    const { cert, key, ca } = await certificateFor(host)
    const record = await world.svc.domains.setCertificate({
      ...{ id, source: "upload", certificate: `${cert}${ca}`, private_key: key },
    })
    return { record, ca, cert, serial: new X509Certificate(cert).serialNumber }
  }
  /** A domain in front of a server that says what it received. */
  const domain = async () => {
    const receiver = await startReceiver(t)
    receiver.script((reply, request) => {
      reply.setHeader("set-cookie", ["a=1", "b=2"])
      reply.end(
        JSON.stringify({
          headers: request.headers,
          body: request.body.toString(),
          method: request.method,
          url: request.path,
        }),
      )
    })
    const lb = await world.svc.lb.create({
      name: "shop",
      backends: [{ address: "127.0.0.1", port: receiver.port }],
    })
    const made = await world.active(NAME, { target: { type: "load_balancer", id: lb.id }, hsts: true })
    const given = await give(made.id)
    await world.svc.domains.verify({ id: made.id })
    return { ...made, ...given, receiver }
  }
  return { ...world, port, give, domain }
}

const ask = async (port: number, ca: string, options: RequestOptions = {}, body = "") => {
  const asked = httpsRequest({
    ...{ host: "127.0.0.1", port, ca, servername: NAME, agent: false, ...options },
    headers: { host: NAME, ...options.headers },
  })
  asked.end(body)
  const [answer] = await once(asked, "response")
  const text = Buffer.concat(await answer.toArray()).toString()
  const serial = (answer.socket as TLSSocket).getPeerCertificate().serialNumber as string
  return { status: answer.statusCode as number, headers: answer.headers, text, serial }
}

const openHttp2 = (t: TestContext, port: number, ca: string): ClientHttp2Session => {
  const session = connectHttp2(`https://${NAME}:${port}`, {
    ca,
    createConnection: () =>
      connectTls({ host: "127.0.0.1", port, ca, servername: NAME, ALPNProtocols: ["h2"] }),
  })
  session.on("error", () => undefined)
  t.after(() => session.destroy())
  return session
}

const askHttp2 = async (session: ClientHttp2Session, headers: Record<string, string>, body = "") => {
  const stream = session.request({ ":authority": NAME, ...headers })
  if (!stream.writableEnded) stream.end(body)
  const [answer] = await once(stream, "response")
  return { headers: answer, text: Buffer.concat(await stream.toArray()).toString() }
}

test("a domain is answered over HTTP/1.1, HTTP/2 and WebSockets with its own certificate, and says that it was HTTPS", async t => {
  const { svc, port, domain } = await tlsWorld(t)
  const { id, ca, serial, record } = await domain()
  assert.deepEqual([record.certificate?.source, record.certificate?.status], ["upload", "issued"])
  const first = await ask(port, ca, { method: "POST", path: "/a?b=c" }, "text")
  assert.equal(first.serial, serial)
  assert.equal(first.headers["strict-transport-security"], "max-age=31536000")
  const seen = JSON.parse(first.text)
  assert.deepEqual([seen.method, seen.url, seen.body], ["POST", "/a?b=c", "text"])
  assert.deepEqual(
    [seen.headers["x-forwarded-proto"], seen.headers["x-forwarded-for"]],
    ["https", "127.0.0.1"],
  )

  const session = openHttp2(t, port, ca)
  const long = "x".repeat(300_000)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => askHttp2(session, { ":method": "POST", ":path": `/${at}` }, long)),
  )
  for (const [at, { headers, text }] of answers.entries()) {
    const passed = JSON.parse(text)
    assert.deepEqual([headers[":status"], passed.url, passed.body.length], [200, `/${at}`, long.length])
    assert.deepEqual(headers["set-cookie"], ["a=1", "b=2"])
    assert.deepEqual([passed.headers.host, passed.headers["x-forwarded-proto"]], [NAME, "https"])
    assert.equal(passed.headers["x-forwarded-for"], "127.0.0.1")
  }
  const head = await askHttp2(session, { ":method": "HEAD", ":path": "/" })
  assert.deepEqual([head.headers[":status"], head.text], [200, ""])

  const echo = await freePort()
  const sockets = new WebSocketServer({ port: echo, host: "127.0.0.1" })
  t.after(() => sockets.close())
  sockets.on("connection", socket => socket.on("message", text => socket.send(`you said ${text}`)))
  const chat = await svc.lb.create({ name: "chat", backends: [{ address: "127.0.0.1", port: echo }] })
  await svc.domains.setTarget({ id, target: { type: "load_balancer", id: chat.id } })
  await svc.domains.verify({ id })
  const socket = new WebSocket(`wss://${NAME}:${port}/`, {
    ca,
    lookup: toThisMachine,
  })
  await once(socket, "open")
  socket.send("hello")
  const [said] = await once(socket, "message")
  assert.equal(String(said), "you said hello")
  socket.close()
})

test("openssl and curl agree: TLS 1.2 and 1.3 with the whole chain, nothing older, and no renegotiation", async t => {
  const { port, domain } = await tlsWorld(t)
  const { ca } = await domain()
  const folder = await mkdtemp(join(tmpdir(), "svc-tls-"))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, "ca.pem")
  await writeFile(file, ca)
  const client = async (...more: string[]) => {
    const child = run("openssl", [
      ...["s_client", "-connect", `127.0.0.1:${port}`, "-servername", NAME, "-CAfile", file],
      ...["-verify_return_error", "-verify_hostname", NAME, ...more],
    ])
    child.child.stdin?.end("")
    return child.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    )
  }
  const modern = await client("-tls1_3", "-alpn", "h2")
  assert.match(modern, /Verify return code: 0/)
  assert.match(modern, /ALPN protocol: h2/)
  const older = await client("-tls1_2")
  assert.match(older, /Verify return code: 0/)
  assert.match(older, /Cipher is ECDHE-/)
  assert.match(await client("-tls1_1", "-cipher", "ALL@SECLEVEL=0"), /Cipher is \(NONE\)/)
  const curl = await run("curl", [
    ...["-sS", "--cacert", file, "--resolve", `${NAME}:${port}:127.0.0.1`, "-o", join(folder, "out")],
    ...["-w", "%{http_version} %{http_code}", `https://${NAME}:${port}/`],
  ])
  assert.match(curl.stdout, /^(?:2|1\.1) 200$/)
})

test("a name without a certificate gets none of another, and the operator's own answers for the platform", async t => {
  const folder = await mkdtemp(join(tmpdir(), "svc-tls-"))
  t.after(() => rm(folder, { recursive: true }))
  const own = await certificateFor(OWN)
  const files = { SVC_TLS_CERT_FILE: join(folder, "cert.pem"), SVC_TLS_KEY_FILE: join(folder, "key.pem") }
  await writeFile(files.SVC_TLS_CERT_FILE, own.cert)
  await writeFile(files.SVC_TLS_KEY_FILE, own.key)
  const { port } = await tlsWorld(t, { ...files, SVC_BASE_URL: `https://${OWN}` })
  const answer = await ask(port, own.ca, { servername: OWN, headers: { host: OWN }, path: "/v1/me" })
  assert.equal(answer.status, 401)
  await assert.rejects(ask(port, own.ca, { servername: NAME }), { code: "ERR_TLS_CERT_ALTNAME_INVALID" })

  const bare = await tlsWorld(t)
  await assert.rejects(ask(bare.port, own.ca))
})

test("a certificate is changed under load, in every process, and no request fails", async t => {
  const { p, dns, port, domain, give } = await tlsWorld(t)
  const { id, ca, serial } = await domain()
  const otherPort = await freePort()
  const databaseUrl = p.database.pool.options.connectionString ?? ""
  await platform(t, {
    databaseUrl,
    env: {
      SVC_DNS_SERVERS: dns.address,
      SVC_TLS_PORT: String(otherPort),
      SVC_OUTBOUND_ALLOW: "127.0.0.1/32",
    },
  })
  const first = await eventually("the other process has it", () => ask(otherPort, ca))
  assert.equal(first.serial, serial)
  const session = openHttp2(t, port, ca)
  let isOver = false
  let count = 0
  const load = async (send: () => Promise<{ readonly status: unknown }>) => {
    while (!isOver) {
      assert.equal((await send()).status, 200)
      count++
    }
  }
  const loads = [
    load(() => ask(port, ca)),
    load(() => ask(otherPort, ca)),
    load(async () => ({ status: (await askHttp2(session, { ":path": "/" })).headers[":status"] })),
  ]
  let last = serial
  for (let changes = 0; changes < 5; changes++) {
    last = (await give(id)).serial
    for (const at of [port, otherPort])
      await eventually(
        "the new certificate answers",
        () => ask(at, ca),
        answer => answer.serial === last,
      )
  }
  isOver = true
  await Promise.all(loads)
  assert.ok(count > 10 && last !== serial)
})

test("what no browser would take is refused, and the key is nowhere in the database", async t => {
  const { p, svc } = await tlsWorld(t)
  const { id } = await svc.domains.create({ domain: NAME })
  const { cert, key, ca } = await certificateFor(NAME)
  const other = await certificateFor("other.example.com")
  const old = await certificateFor(NAME, p.clock.now() - 800 * 24 * HOUR_MS)
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({
    type: "pkcs8",
    format: "pem",
  }) as string
  const give = (certificate?: string, private_key?: string) =>
    svc.domains.setCertificate({
      ...{ id, source: "upload" },
      ...(certificate !== undefined && { certificate }),
      ...(private_key !== undefined && { private_key }),
    })
  const refused: [RegExp, string | undefined, string | undefined][] = [
    [/required/, undefined, undefined],
    [/no certificate/, "nothing", key],
    [/no certificate/, cert.replace(/MII../, "AAAAA"), key],
    [/none in PEM/, cert, "nothing"],
    [/another certificate/, cert, other.key],
    [/another certificate/, cert, weak],
    [/not for/, other.cert, other.key],
    [/expired/, old.cert, old.key],
    [/not signed by/, `${cert}${other.cert}`, key],
    [/more than/, cert + ca.repeat(10), key],
  ]
  for (const [message, certificate, private_key] of refused)
    await assert.rejects(give(certificate, private_key), (error: Error & { code?: string }) => {
      assert.equal(error.code, "invalid_parameter")
      assert.match(error.message, message)
      return true
    })
  const { certificate } = await give(`${cert}${ca}`, key)
  assert.deepEqual([certificate?.status, certificate?.next_attempt_at], ["issued", null])
  const { rows } = await p.database.pool.query("SELECT * FROM domains.certificates")
  assert.ok(rows.length === 1 && !JSON.stringify(rows).includes("PRIVATE KEY"))
  await assert.rejects(svc.domains.setCertificate({ id, source: "acme" }), { status: 501 })
  await svc.domains.delete({ id })
  await assert.rejects(give(cert, key), { status: 404, code: "domain_not_found" })
  assert.equal((await p.database.pool.query("SELECT FROM domains.certificates")).rowCount, 0)
})

test("clients that reset, flood, stall or speak no TLS are sent away, and others are served meanwhile", async t => {
  const { port, domain } = await tlsWorld(t)
  const { ca, receiver } = await domain()
  const session = openHttp2(t, port, ca)
  await once(session, "connect")
  // Rapid reset: requests that are taken back at once.
  for (let resets = 0; resets < 3_000 && !session.destroyed && !session.closed; resets++) {
    const stream = session.request({ ":authority": NAME, ":path": "/" })
    const sent = Promise.withResolvers<void>()
    for (const event of ["ready", "close", "error"]) stream.on(event, () => sent.resolve())
    if (stream.id !== undefined) sent.resolve()
    await sent.promise
    stream.close(constants.NGHTTP2_CANCEL)
    await new Promise(setImmediate)
  }
  assert.equal((await ask(port, ca)).status, 200)
  assert.ok(receiver.requests.length < 1_000)

  const headers = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`x-${at}`, "y".repeat(50)]))
  const flooding = openHttp2(t, port, ca)
  await assert.rejects(askHttp2(flooding, { ":path": "/", ...headers }))
  const picky = openHttp2(t, port, ca)
  for (const bad of [{ host: "other.example.com" }, { ":authority": "a b" }, { ":method": "TRACE" }])
    await askHttp2(picky, { ":path": "/", ...bad }).then(
      ({ headers }) => assert.ok([400, 405].includes(Number(headers[":status"]))),
      error => assert.ok(error),
    )
  const plain = connectTcp(port, "127.0.0.1")
  plain.on("error", () => undefined)
  plain.write("GET / HTTP/1.1\r\nhost: shop.example.com\r\n\r\n")
  plain.resume()
  await once(plain, "close")
  assert.equal((await ask(port, ca)).status, 200)
})
