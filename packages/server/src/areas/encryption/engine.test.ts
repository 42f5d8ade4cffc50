/** The area over Vault, and what is left of it when Vault is away. */
import assert from "node:assert/strict"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { readConfig } from "../../config.ts"
import { startPlatform } from "../../platform.ts"
import { startFakeVault } from "../../ports/secrets/drivers/vault/testing/fake-vault.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs } from "../kv/testing/drivers.ts"
import { BOTH_SCOPES, decrypted, encrypted } from "./testing/texts.ts"

const settingsOf = (address: string) => ({
  SVC_VAULT_ADDR: address,
  SVC_VAULT_TOKEN: "root",
  SVC_VAULT_KEY: "teams/cloud/transit/keys/svc",
})

const stateOf = async (svc: Svc) =>
  (await svc.identity.services()).services.find(({ name }) => name === "encryption")

const wraps = async ({ database }: TestPlatform) =>
  (await database.db.selectFrom("encryption.keys").select("wrapped_key").execute()).map(
    row => row.wrapped_key,
  )

test("with Vault away keys in use go on working, others answer 503, and all is well once it is back", async t => {
  const vault = await startFakeVault(t)
  const p = await platform(t, { env: settingsOf(vault.address) })
  const acme = await p.wide("acme", ...BOTH_SCOPES)
  const globex = await p.wide("globex", ...BOTH_SCOPES)
  const text = await encrypted(acme, "text")
  assert.match((await wraps(p))[0] ?? "", /^vault:v1:/)
  assert.equal((await stateOf(acme))?.status, "available")

  await vault.stop()

  assert.equal(await decrypted(acme, text), "text")
  assert.equal(await decrypted(acme, await encrypted(acme, "more")), "more")
  for (const act of [() => encrypted(globex, "text"), () => acme.encryption.rotateKey()])
    await assert.rejects(act, refusedAs("service_unavailable", 503))
  const { status, reason, setting } = (await stateOf(acme)) ?? {}
  assert.deepEqual([status, setting], ["degraded", "SVC_VAULT_ADDR"])
  assert.ok(reason && !reason.includes(vault.address))

  await vault.start()
  assert.equal(await decrypted(globex, await encrypted(globex, "text")), "text")
  assert.equal((await acme.encryption.rotateKey()).key_version, 2)
  assert.equal((await stateOf(acme))?.status, "available")
})

test("a platform starts while Vault is away", async t => {
  const vault = await startFakeVault(t)
  await vault.stop()
  const p = await platform(t, { env: settingsOf(vault.address) })
  const acme = await p.wide("acme", ...BOTH_SCOPES)
  assert.equal((await stateOf(acme))?.status, "degraded")
  await assert.rejects(encrypted(acme, "text"), refusedAs("service_unavailable", 503))
  await vault.start()
  assert.equal(await decrypted(acme, await encrypted(acme, "text")), "text")
})

test("keys that the master key wrapped move to Vault by themselves, and to each new version of its key", async t => {
  const before = await platform(t)
  const { secret } = await before.key("acme", BOTH_SCOPES, { project_id: null })
  const text = await encrypted(before.as(secret), "text")
  const vault = await startFakeVault(t)
  const databaseUrl = before.config.databaseUrl ?? ""
  const p = await platform(t, { databaseUrl, env: settingsOf(vault.address) })
  assert.equal(await decrypted(p.as(secret), text), "text")

  for (const generation of [/^vault:v1:/, /^vault:v2:/]) {
    await p.clock.advance(3_600_000)
    for (const wrapped of await wraps(p)) assert.match(wrapped ?? "", generation)
    vault.rotate()
  }
  const later = await platform(t, { databaseUrl, env: settingsOf(vault.address) })
  assert.equal(await decrypted(later.as(secret), text), "text")
})

test("a Vault without a token is a mistake that the start tells", async t => {
  const p = await platform(t)
  const folder = await mkdtemp(join(tmpdir(), "svc-test-"))
  // Database servers run as other users, and would be placed elsewhere, and left there, if these could not pass.
  await chmod(folder, 0o711)
  t.after(() => rm(folder, { recursive: true }))
  const settings = readConfig({
    ...{ SVC_PORT: "0", SVC_DATA_DIR: folder, SVC_LOG_LEVEL: "silent" },
    ...{ SVC_DATABASE_URL: p.config.databaseUrl, SVC_MASTER_KEY: p.config.masterKey },
    SVC_VAULT_ADDR: "http://127.0.0.1:8200",
  })
  await assert.rejects(startPlatform(settings), {
    name: "StartupError",
    message: "SVC_VAULT_ADDR names a Vault, and there is no token for it.",
  })
})

/** Made with another implementation (pyca/cryptography) from the master key of the tests. */
const VECTORS = {
  organizationId: "0190a5c2-7d3e-7c41-9b0a-1f2e3d4c5b6a",
  wrapped: "svc:wrap1:AAECAwQFBgcICQoLFnwGjA+lbMVrZI/HdgKQzLn83MYTEs0GH9tv9OFRLiYAGEWQSL8R9cSBUIGlMteq",
  texts: [
    {
      ciphertext: "svc:v7:ZGVmZ2hpamtsbW5vI/rx6X4LBNCQRmwOzbUNoqOhDKQ+I+Mk8qWQ",
      context: { owner: "Zoë", invoice: "42" },
      plaintext: "hällo €",
      encoding: "utf8",
    },
    {
      ciphertext: "svc:v7:eHl6e3x9fn+AgYKDe6i/nd7gmI4N5xWsnPGiG5SE5Eo=",
      context: {},
      plaintext: "AP/+",
      encoding: "base64",
    },
  ],
} as const

test("the format is the one that is documented: texts that another implementation made decrypt", async t => {
  const p = await platform(t)
  const { organizationId, wrapped, texts } = VECTORS
  const now = new Date()
  await p.database.db
    .insertInto("core.organizations")
    .values({
      ...{ id: organizationId, name: "Vectors", slug: "vectors", plan: "enterprise" },
      ...{ requests_per_second: null, created_at: now, deleted_at: null },
    })
    .execute()
  await p.database.db
    .insertInto("encryption.keys")
    .values({
      ...{ tenant_id: organizationId, version: 7, state: "active", wrapped_key: wrapped },
      ...{ uses_reserved: 0, created_at: now },
    })
    .execute()
  const { secret } = await p.key("vectors", ["encryption:use"], {
    organization_id: organizationId,
    project_id: null,
  })
  const { encryption } = p.as(secret)
  for (const { ciphertext, context, plaintext, encoding } of texts) {
    assert.deepEqual(await encryption.decrypt({ ciphertext, context }), {
      plaintext,
      encoding,
      key_version: 7,
    })
  }
})
