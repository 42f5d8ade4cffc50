/** Certificates by ACME, against Pebble, the test authority of Let's Encrypt. */
import assert from "node:assert/strict"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { request as httpsRequest } from "node:https"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls"
import { startDns } from "../../testing/dns.ts"
import { eventually } from "../../testing/eventually.ts"
import { freePort } from "../../testing/ports.ts"
import { certificateFor } from "./testing/certificates.ts"
import { type Domain, domainsWorld } from "./testing/world.ts"

const NAME = "shop.example.com"
const DAY_MS = 86_400_000
const PEBBLE = process.env.SVC_TEST_PEBBLE ?? "pebble"

const isHere = (): boolean => {
  try {
    execFileSync(PEBBLE, ["-version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const skip = isHere()
  ? false
  : "takes Pebble: go install github.com/letsencrypt/pebble/v2/cmd/pebble@latest, or SVC_TEST_PEBBLE"

/** A name server by TCP, which is all that Pebble speaks, in front of one by UDP. */
const overTcp = async (t: TestContext, udpAddress: string): Promise<string> => {
  const [host = "", udpPort = ""] = udpAddress.split(":")
  const server = createServer(socket => {
    const udp = createSocket("udp4")
    socket.on("error", () => undefined)
    socket.once("close", () => udp.close())
    // A query is small, and comes whole.
    socket.on("data", query => udp.send(query.subarray(2), Number(udpPort), host))
    udp.on("message", reply => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length)
      socket.write(Buffer.concat([length, reply]))
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An authority that asks that port, and resolves names by that name server. */
const startPebble = async (t: TestContext, httpPort: number, dnsServer: string) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-pebble-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const { cert, key, ca } = await certificateFor("localhost")
  const [certificate, privateKey, config] = ["cert.pem", "key.pem", "config.json"].map(name =>
    join(folder, name),
  )
  assert.ok(certificate && privateKey && config)
  await writeFile(certificate, cert)
  await writeFile(privateKey, key)
  const pebble = {
    ...{ listenAddress: `127.0.0.1:${port}`, certificate, privateKey, httpPort, tlsPort: 1 },
    ...{ ocspResponderURL: "", externalAccountBindingRequired: false },
  }
  await writeFile(config, JSON.stringify({ pebble }))
  const child: ChildProcess = spawn(PEBBLE, ["-config", config, "-dnsserver", dnsServer], {
    env: { ...process.env, PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "20" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(() => child.kill("SIGKILL"))
  if (child.stdout) await once(child.stdout, "data")
  child.stdout?.resume()
  const before = getCACertificates("default")
  setDefaultCACertificates([...before, ca])
  t.after(() => setDefaultCACertificates(before))
  return `https://localhost:${port}/dir`
}

const serialAt = async (port: number): Promise<string> => {
  const asked = httpsRequest({
    ...{ host: "127.0.0.1", port, servername: NAME, agent: false, rejectUnauthorized: false },
    headers: { host: NAME },
  })
  asked.end()
  const [answer] = await once(asked, "response")
  answer.resume()
  return (answer.socket as TLSSocket).getPeerCertificate().serialNumber
}

test("an active domain gets a certificate by itself, again before it ends, and is told why where it cannot", {
  skip,
}, async t => {
  const [httpPort, tlsPort] = [await freePort(), await freePort()]
  const names = await startDns(t)
  names.answer(NAME, [{ type: "A", data: "127.0.0.1" }])
  names.answer("localhost", [{ type: "A", data: "127.0.0.1" }])
  const directory = await startPebble(t, httpPort, await overTcp(t, names.address))
  const { p, svc, active } = await domainsWorld(t, {
    env: {
      ...{ SVC_PORT: String(httpPort), SVC_TLS_PORT: String(tlsPort), SVC_ACME_DIRECTORY: directory },
      SVC_OUTBOUND_ALLOW: "127.0.0.1/32,::1/128",
    },
    startMs: Date.now(),
  })
  const settled = (id: string, is: (domain: Domain) => boolean) =>
    eventually(
      "the authority has decided",
      async () => {
        await p.clock.advance(1_000)
        return svc.domains.get({ id })
      },
      is,
    )
  const { id, certificate } = await active(NAME, { force_https: true })
  assert.equal(certificate?.status, "pending")
  const issued = await settled(id, ({ certificate }) => certificate?.status !== "pending")
  assert.deepEqual([issued.certificate?.status, issued.certificate?.last_error], ["issued", null])
  const first = await serialAt(tlsPort)

  const renewsMs = Date.parse(issued.certificate?.next_attempt_at ?? "")
  assert.ok(renewsMs < Date.parse(issued.certificate?.not_after ?? "") - DAY_MS)
  await svc.domains.setCertificate({ id, source: "acme" })
  await settled(id, ({ certificate }) => certificate?.next_attempt_at !== issued.certificate?.next_attempt_at)
  await eventually(
    "the new one answers",
    async () => {
      await p.clock.advance(1_000)
      return serialAt(tlsPort)
    },
    serial => serial !== first,
  )

  const lost = await active("nowhere.example.com")
  const failed = await settled(lost.id, ({ certificate }) => certificate?.status === "failed")
  assert.match(failed.certificate?.last_error ?? "", /could not verify the domain/)
  await assert.rejects(
    svc.domains.setCertificate({
      id: (await svc.domains.create({ domain: "new.example.com" })).id,
      source: "acme",
    }),
    { status: 400 },
  )
})
