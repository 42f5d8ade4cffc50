import assert from "node:assert/strict"
import { X509Certificate } from "node:crypto"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { createSecureContext } from "node:tls"
import { ownCertificate } from "./certificate.ts"

const DAY_MS = 86_400_000
const authoritySecret = Buffer.alloc(32, "certificates")

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-certificate-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, "wire")
}

test("a certificate is made once, kept from other users, and good for the host, names below it and this machine", async t => {
  const folder = await temporaryFolder(t)
  const made = await ownCertificate({ folder, host: "db.example.com", authoritySecret })
  assert.deepEqual(await ownCertificate({ folder, host: "db.example.com", authoritySecret }), made)
  for (const file of ["wire.key", "wire.crt", "wire-ca.crt"]) {
    assert.equal((await stat(join(folder, file))).mode & 0o777, 0o600)
  }
  createSecureContext(made)
  const certificate = new X509Certificate(made.cert)
  for (const host of ["localhost", "db.example.com", "branch.db.example.com"])
    assert.ok(certificate.checkHost(host), host)
  for (const address of ["127.0.0.1", "::1"]) assert.equal(certificate.checkIP(address), address)
})

test("what signs a certificate is the installation's own authority, the same in each of its processes", async t => {
  const [here, there] = await Promise.all(
    [await temporaryFolder(t), await temporaryFolder(t)].map(folder =>
      ownCertificate({ folder, host: "db.example.com", authoritySecret }),
    ),
  )
  assert.ok(here && there)
  const ca = new X509Certificate(here.ca)
  assert.ok(ca.ca)
  for (const { cert } of [here, there]) {
    const certificate = new X509Certificate(cert)
    assert.ok(!certificate.ca)
    assert.ok(certificate.checkIssued(ca) && certificate.verify(ca.publicKey))
  }
  const stranger = Buffer.alloc(32, "somebody else")
  const folder = await temporaryFolder(t)
  const other = await ownCertificate({ folder, host: "db.example.com", authoritySecret: stranger })
  assert.ok(!new X509Certificate(other.cert).verify(ca.publicKey))
})

test("a certificate that ends, is for another host or of another authority, or is spoilt is made again", async t => {
  const folder = await temporaryFolder(t)
  const first = await ownCertificate({ folder, host: "localhost", authoritySecret })
  const later = await ownCertificate(
    { folder, host: "localhost", authoritySecret },
    Date.now() + 380 * DAY_MS,
  )
  assert.notEqual(later.cert, first.cert)
  assert.equal(later.ca, first.ca)
  const other = await ownCertificate({ folder, host: "192.0.2.7", authoritySecret })
  assert.equal(new X509Certificate(other.cert).checkIP("192.0.2.7"), "192.0.2.7")
  await writeFile(join(folder, "wire.key"), first.key)
  const mended = await ownCertificate({ folder, host: "192.0.2.7", authoritySecret })
  assert.notEqual(mended.cert, other.cert)
  assert.equal(await readFile(join(folder, "wire.key"), "utf8"), mended.key)
  const stranger = Buffer.alloc(32, "somebody else")
  const moved = await ownCertificate({ folder, host: "192.0.2.7", authoritySecret: stranger })
  assert.notEqual(moved.cert, mended.cert)
  assert.ok(new X509Certificate(moved.cert).verify(new X509Certificate(moved.ca).publicKey))
})

test("an authority outlives what it signs, and its key stays when it is renewed", async t => {
  const folder = await temporaryFolder(t)
  const first = await ownCertificate({ folder, host: "localhost", authoritySecret })
  const late = Date.now() + 9 * 365 * DAY_MS
  const renewed = await ownCertificate({ folder, host: "localhost", authoritySecret }, late)
  assert.notEqual(renewed.ca, first.ca)
  assert.ok(new X509Certificate(renewed.cert).verify(new X509Certificate(first.ca).publicKey))
})
