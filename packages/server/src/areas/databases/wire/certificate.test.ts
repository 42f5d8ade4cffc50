import assert from "node:assert/strict"
import { X509Certificate } from "node:crypto"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { createSecureContext } from "node:tls"
import { ownCertificate } from "./certificate.ts"

const DAY_MS = 86_400_000

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-certificate-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, "wire")
}

test("a certificate is made once, kept from other users, and good for the names of this machine", async t => {
  const folder = await temporaryFolder(t)
  const made = await ownCertificate(folder, "db.example.com")
  assert.deepEqual(await ownCertificate(folder, "db.example.com"), made)
  for (const file of ["wire.key", "wire.crt"]) {
    assert.equal((await stat(join(folder, file))).mode & 0o777, 0o600)
  }
  createSecureContext(made)
  const certificate = new X509Certificate(made.cert)
  for (const host of ["localhost", "db.example.com"]) assert.equal(certificate.checkHost(host), host)
  for (const address of ["127.0.0.1", "::1"]) assert.equal(certificate.checkIP(address), address)
})

test("a certificate that ends, is for another host, or is spoilt is made again", async t => {
  const folder = await temporaryFolder(t)
  const first = await ownCertificate(folder, "localhost")
  const later = await ownCertificate(folder, "localhost", Date.now() + 380 * DAY_MS)
  assert.notEqual(later.cert, first.cert)
  const other = await ownCertificate(folder, "192.0.2.7")
  assert.equal(new X509Certificate(other.cert).checkIP("192.0.2.7"), "192.0.2.7")
  await writeFile(join(folder, "wire.key"), first.key)
  const mended = await ownCertificate(folder, "192.0.2.7")
  assert.notEqual(mended.cert, other.cert)
  assert.equal(await readFile(join(folder, "wire.key"), "utf8"), mended.key)
})
