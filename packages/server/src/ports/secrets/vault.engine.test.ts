import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { ownCertificate } from "../../services/postgres/certificate.ts"
import { eventually } from "../../testing/eventually.ts"
import { secretsConformance } from "./conformance.ts"
import { openVaultSecrets, type VaultOptions } from "./drivers/vault/driver.ts"
import { type FakeVault, startFakeVault } from "./drivers/vault/testing/fake-vault.ts"
import { openSecrets } from "./index.ts"

const openAt = (t: TestContext, vault: FakeVault, options: Partial<VaultOptions> = {}) => {
  const warnings: string[] = []
  const secrets = openVaultSecrets({
    ...{ address: vault.address, token: "root", mount: "teams/cloud/transit", keyName: "svc" },
    warn: line => warnings.push(line),
    ...options,
  })
  t.after(() => secrets[Symbol.asyncDispose]())
  return { secrets, warnings }
}

const KEY = randomBytes(32)

const unavailable = (message: RegExp) => ({ name: "PortError", kind: "unavailable", message })

secretsConformance("Vault", async t => {
  const vault = await startFakeVault(t)
  return { secrets: openAt(t, vault).secrets, reopen: () => openAt(t, vault).secrets }
})

test("after Vault's key was rotated, what was wrapped before opens, and new wraps begin otherwise", async t => {
  const vault = await startFakeVault(t)
  const { secrets } = openAt(t, vault)
  const before = await secrets.wrap(KEY, "a")
  assert.deepEqual(await secrets.health(), { ok: true, generation: "vault:v1:" })

  vault.rotate()

  assert.deepEqual(await secrets.unwrap(before, "a"), KEY)
  assert.deepEqual(await secrets.health(), { ok: true, generation: "vault:v2:" })
})

test("a Vault that is sealed, gone or silent, that knows no such key, mount or token, is unavailable", async t => {
  const vault = await startFakeVault(t)
  const { secrets } = openAt(t, vault)
  const { secrets: hasty } = openAt(t, vault, { timeoutMs: 100 })
  const wrapped = await secrets.wrap(KEY, "a")

  vault.condition = "sealed"
  await assert.rejects(secrets.wrap(KEY, "a"), unavailable(/answered 503 .*Vault is sealed/))
  vault.condition = "hanging"
  await assert.rejects(hasty.unwrap(wrapped, "a"), unavailable(/does not answer/))
  vault.condition = "well"
  for (const [wrong, message] of [
    [{ token: "stolen" }, /answered 403 .*policy/],
    [{ mount: "elsewhere" }, /answered 404 .*no transit engine/],
    [{ keyName: "other" }, /encryption key not found/],
    [{ namespace: "other" }, /answered 404/],
  ] as const) {
    const { secrets: mistaken } = openAt(t, vault, wrong)
    await assert.rejects(mistaken.unwrap(wrapped, "a"), unavailable(message))
    const health = await mistaken.health()
    assert.ok(!health.ok && message.test(health.reason))
  }
  await vault.stop()
  await assert.rejects(secrets.unwrap(wrapped, "a"), unavailable(/does not answer/))

  await vault.start()
  assert.deepEqual(await secrets.unwrap(wrapped, "a"), KEY)
})

test("no error of the driver holds the token or the key", async t => {
  const vault = await startFakeVault(t)
  const { secrets } = openAt(t, vault, { token: "the-token-itself" })
  const error = await secrets.wrap(KEY, "a").catch(error => error)
  assert.ok(error instanceof Error)
  for (const secret of ["the-token-itself", KEY.toString("base64")])
    assert.ok(!`${error.message} ${error.stack} ${error.cause}`.includes(secret))
})

test("a namespace is named in every request", async t => {
  const vault = await startFakeVault(t)
  vault.namespace = "acme/cloud"
  const { secrets } = openAt(t, vault, { namespace: "acme/cloud" })
  assert.deepEqual(await secrets.unwrap(await secrets.wrap(KEY, "a"), "a"), KEY)
})

test("over TLS a Vault proves itself by the certificates that the operator names, or is not spoken to", async t => {
  const folder = await mkdtemp(join(tmpdir(), "svc-vault-"))
  t.after(() => rm(folder, { recursive: true }))
  const vault = await startFakeVault(
    t,
    await ownCertificate({ folder, host: "127.0.0.1", authoritySecret: KEY }),
  )
  const { secrets } = openAt(t, vault, { caFile: join(folder, "wire-ca.crt") })
  assert.deepEqual(await secrets.unwrap(await secrets.wrap(KEY, "a"), "a"), KEY)
  await assert.rejects(openAt(t, vault).secrets.wrap(KEY, "a"), unavailable(/does not answer.*certificate/))
})

const renewals = ({ asked }: FakeVault) => asked.filter(path => path.endsWith("renew-self")).length

test("a token that ends is renewed before it does, and one that cannot be is left alone", async t => {
  const vault = await startFakeVault(t)
  vault.tokens.set("leased", 1)
  openAt(t, vault, { token: "leased" })
  await eventually("the background of the driver does it", () => renewals(vault) >= 2)

  const other = await startFakeVault(t)
  const { secrets } = openAt(t, other)
  await eventually("the background of the driver does it", () => renewals(other) === 1)
  await secrets.wrap(KEY, "a")
  assert.equal(renewals(other), 1)
})

test("a token that Vault does not renew is told to the operator", async t => {
  const vault = await startFakeVault(t)
  const { warnings } = openAt(t, vault, { token: "revoked" })
  await eventually("the background of the driver does it", () => warnings.length > 0)
  assert.match(warnings[0] ?? "", /could not be renewed: Vault answered 403/)
})

test("a token file is read anew, so that an agent can change it, and is not renewed by the platform", async t => {
  const vault = await startFakeVault(t)
  vault.tokens.set("second", 60)
  const folder = await mkdtemp(join(tmpdir(), "svc-vault-"))
  t.after(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, "token")
  await writeFile(tokenFile, "root\n")
  const { secrets } = openAt(t, vault, { token: undefined, tokenFile })
  const wrapped = await secrets.wrap(KEY, "a")

  vault.tokens.delete("root")
  await assert.rejects(secrets.unwrap(wrapped, "a"), unavailable(/403/))
  await writeFile(tokenFile, "second\n")

  assert.deepEqual(await secrets.unwrap(wrapped, "a"), KEY)
  assert.equal(renewals(vault), 0)
})

test("what the master key wrapped still opens once Vault is chosen, and what Vault wrapped needs Vault", async t => {
  const vault = await startFakeVault(t)
  const masterKey = randomBytes(32)
  const local = await openSecrets({ driver: "local", masterKey })
  const chosen = await openSecrets({
    ...{ driver: "vault", masterKey, address: vault.address, token: "root" },
    ...{ mount: "teams/cloud/transit", keyName: "svc", warn: () => undefined },
  })
  t.after(() => chosen[Symbol.asyncDispose]())

  assert.deepEqual(await chosen.unwrap(await local.wrap(KEY, "a"), "a"), KEY)
  const wrapped = await chosen.wrap(KEY, "a")
  assert.match(wrapped, /^vault:v1:/)
  await assert.rejects(local.unwrap(wrapped, "a"), unavailable(/SVC_VAULT_ADDR/))
})
