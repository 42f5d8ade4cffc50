import assert from "node:assert/strict"
import { test } from "node:test"
import { ENCRYPTION_PLAINTEXT_BYTES_MAX } from "@svc/contract"
import { type Svc, SvcError } from "@svc/sdk"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs } from "../kv/testing/drivers.ts"
import { BOTH_SCOPES, decrypted, encrypted, rewrapped } from "./testing/texts.ts"

const acmeOf = (p: TestPlatform) => p.wide("acme", ...BOTH_SCOPES)

test("a text comes back as it came, as text or as bytes", async t => {
  const p = await platform(t)
  const { encryption } = await acmeOf(p)
  for (const [plaintext, encoding] of [
    ["hällo \u0000 €😀", "utf8"],
    ["", "utf8"],
    ["aGVsbG8=", "utf8"],
    ["aGVsbG8=", "base64"],
    ["AP/+", "base64"],
    ["", "base64"],
  ] as const) {
    const made = await encryption.encrypt({ plaintext, encoding, context: { of: "mine" } })
    assert.ok("ciphertext" in made)
    assert.match(made.ciphertext, /^svc:v1:[A-Za-z0-9+/]+=*$/)
    const { ciphertext } = made
    assert.deepEqual(await encryption.decrypt({ ciphertext, context: { of: "mine" } }), {
      plaintext,
      encoding,
      key_version: 1,
    })
  }
})

test("two encryptions of one text differ", async t => {
  const acme = await acmeOf(await platform(t))
  assert.notEqual(await encrypted(acme, "text"), await encrypted(acme, "text"))
})

/** What a refusal says, without what differs from call to call. */
const answerTo = async (act: () => Promise<unknown>) => {
  try {
    await act()
  } catch (error) {
    if (error instanceof SvcError) return { status: error.status, code: error.code, message: error.message }
    throw error
  }
  return undefined
}

test("every reason not to decrypt gets one and the same answer, for decrypt and for rewrap", async t => {
  const p = await platform(t)
  const acme = await acmeOf(p)
  const globex = await p.wide("globex", ...BOTH_SCOPES)
  const initech = await p.wide("initech", ...BOTH_SCOPES)
  const retired = await encrypted(acme, "text", { a: "1" })
  await acme.encryption.rotateKey()
  await acme.encryption.updateKey({ min_decryption_version: 2 })
  const good = await encrypted(acme, "text", { a: "1" })
  await encrypted(globex, "text")
  const bytes = Buffer.from(good.slice("svc:v2:".length), "base64")
  bytes[20] = (bytes[20] ?? 0) ^ 1
  const context = { a: "1" }

  const attempts: [Svc, string, Record<string, string>][] = [
    [acme, "", context],
    [acme, "nonsense", context],
    [acme, good.slice(0, -4), context],
    [acme, `svc:v2:${bytes.toString("base64")}`, context],
    [acme, good.replace("v2", "v1"), context],
    [acme, good.replace("v2", "v3"), context],
    [acme, good.replace("v2", "v999999999"), context],
    [acme, good.replace("v2", "v02"), context],
    [acme, retired, context],
    [acme, good, {}],
    [acme, good, { a: "2" }],
    [acme, good, { a: "1", b: "2" }],
    [acme, good, { A: "1" }],
    [globex, good, context],
    // Has no key yet.
    [initech, good, context],
  ]
  const expected = await answerTo(() => decrypted(acme, "nonsense", context))
  assert.deepEqual([expected?.status, expected?.code], [400, "decryption_failed"])
  for (const [svc, ciphertext, context] of attempts) {
    assert.deepEqual(await answerTo(() => decrypted(svc, ciphertext, context)), expected, ciphertext)
    assert.deepEqual(await answerTo(() => rewrapped(svc, ciphertext, context)), expected, ciphertext)
  }
  assert.equal(await decrypted(acme, good, context), "text")
})

test("the platform's own secrets of a tenant do not decrypt, in whatever form they are sent", async t => {
  const p = await platform(t)
  const acme = await acmeOf(p)
  await encrypted(acme, "first use")
  await p.pendingApproval("acme")
  const { id, sealed_request } = await p.database.db
    .selectFrom("core.approvals")
    .select(["id", "sealed_request"])
    .executeTakeFirstOrThrow()
  const [, , , text = ""] = sealed_request.split(":")
  const base64 = Buffer.from(text, "base64url").toString("base64")
  for (const ciphertext of [sealed_request, `svc:v1:${base64}`, `svc:v1:${text}`]) {
    for (const context of [{}, { context: `approval-request:${id}` }])
      await assert.rejects(decrypted(acme, ciphertext, context), refusedAs("decryption_failed"))
  }
})

test("after any number of rotations every text of before decrypts, and rewrap brings it to the newest", async t => {
  const acme = await acmeOf(await platform(t))
  const texts: string[] = []
  for (let version = 1; version <= 5; version++) {
    const text = await encrypted(acme, `of ${version}`, { a: "1" })
    assert.ok(text.startsWith(`svc:v${version}:`))
    texts.push(text)
    const rotated = await acme.encryption.rotateKey()
    assert.deepEqual(
      [rotated.key_version, rotated.previous_version, rotated.min_decryption_version],
      [version + 1, version, 1],
    )
  }
  for (const [at, text] of texts.entries()) {
    assert.equal(await decrypted(acme, text, { a: "1" }), `of ${at + 1}`)
    const renewed = await rewrapped(acme, text, { a: "1" })
    assert.ok(renewed.startsWith("svc:v6:"))
    assert.equal(await decrypted(acme, renewed, { a: "1" }), `of ${at + 1}`)
  }
  const { data, total } = await acme.encryption.keyVersions({ limit: 2 })
  assert.deepEqual(
    [total, data.map(({ version, state }) => [version, state])],
    [
      6,
      [
        [6, "current"],
        [5, "active"],
      ],
    ],
  )
})

test("rewrap keeps bytes bytes", async t => {
  const acme = await acmeOf(await platform(t))
  const made = await acme.encryption.encrypt({ plaintext: "AP8=", encoding: "base64" })
  assert.ok("ciphertext" in made)
  const ciphertext = await rewrapped(acme, made.ciphertext)
  assert.deepEqual(await acme.encryption.decrypt({ ciphertext }), {
    plaintext: "AP8=",
    encoding: "base64",
    key_version: 1,
  })
})

test("the least version that decrypts goes up and down again, and never past the newest", async t => {
  const acme = await acmeOf(await platform(t))
  assert.deepEqual(await acme.encryption.key(), {
    key_version: null,
    min_decryption_version: 1,
    rotated_at: null,
  })
  await assert.rejects(
    acme.encryption.updateKey({ min_decryption_version: 1 }),
    refusedAs("invalid_parameter"),
  )
  const old = await encrypted(acme, "old")
  await acme.encryption.rotateKey()

  const update = (min_decryption_version: number) => acme.encryption.updateKey({ min_decryption_version })
  assert.deepEqual(await update(2), { key_version: 2, min_decryption_version: 2 })
  await assert.rejects(decrypted(acme, old), refusedAs("decryption_failed"))
  await assert.rejects(
    acme.encryption.encrypt({ plaintext: "a", key_version: 1 }),
    refusedAs("invalid_parameter"),
  )
  assert.equal((await acme.encryption.key()).min_decryption_version, 2)
  await assert.rejects(update(3), refusedAs("invalid_parameter"))

  await update(1)
  assert.equal(await decrypted(acme, old), "old")
  assert.deepEqual(
    (await acme.encryption.keyVersions()).data.map(({ state }) => state),
    ["current", "active"],
  )
})

test("an older version that is still accepted can be asked to encrypt; one that never was cannot", async t => {
  const acme = await acmeOf(await platform(t))
  await acme.encryption.rotateKey()
  const made = await acme.encryption.encrypt({ plaintext: "text", key_version: 1 })
  assert.ok("ciphertext" in made)
  assert.equal(made.key_version, 1)
  assert.equal(await decrypted(acme, made.ciphertext), "text")
  await assert.rejects(
    acme.encryption.encrypt({ plaintext: "text", key_version: 3 }),
    refusedAs("invalid_parameter"),
  )
})

test("a batch answers each item in its place under its reference, and one that fails harms no other", async t => {
  const acme = await acmeOf(await platform(t))
  const made = await acme.encryption.encrypt({
    items: [
      { plaintext: "one", reference: "a", context: { n: "1" } },
      { plaintext: "no base64!", encoding: "base64", reference: "b" },
      { plaintext: "two" },
    ],
  })
  assert.ok("items" in made)
  const [one, bad, two] = made.items
  assert.ok(one && "ciphertext" in one && two && "ciphertext" in two && bad && "error" in bad)
  assert.deepEqual([one.reference, bad.reference, two.reference], ["a", "b", undefined])
  assert.equal(bad.error.code, "invalid_parameter")

  const items = [
    { ciphertext: one.ciphertext, context: { n: "1" }, reference: "a" },
    { ciphertext: one.ciphertext, reference: "without its context" },
    { ciphertext: two.ciphertext },
  ]
  const opened = await acme.encryption.decrypt({ items })
  assert.ok("items" in opened)
  const failed = { code: "decryption_failed", message: "the ciphertext could not be decrypted" }
  assert.deepEqual(opened.items, [
    { reference: "a", plaintext: "one", encoding: "utf8", key_version: 1 },
    { reference: "without its context", error: failed },
    { plaintext: "two", encoding: "utf8", key_version: 1 },
  ])
  await acme.encryption.rotateKey()
  const renewed = await acme.encryption.rewrap({ items })
  assert.ok("items" in renewed)
  assert.deepEqual(
    renewed.items.map(item => ("error" in item ? item.error : item.key_version)),
    [2, failed, 2],
  )
  assert.ok(!JSON.stringify(renewed).includes("two"))
})

test("a request holds one text or a batch, and neither more nor none of both", async t => {
  const acme = await acmeOf(await platform(t))
  await assert.rejects(acme.encryption.encrypt({}), refusedAs("missing_parameter"))
  await assert.rejects(acme.encryption.decrypt({}), refusedAs("missing_parameter"))
  await assert.rejects(acme.encryption.rewrap({ context: {} }), refusedAs("missing_parameter"))
  const both = { plaintext: "a", items: [{ plaintext: "a" }] }
  await assert.rejects(acme.encryption.encrypt(both), refusedAs("invalid_parameter"))
})

test("a plaintext of 1 MiB is taken, one byte more is not, nor a batch of more than 4 MiB or 500", async t => {
  const { encryption } = await acmeOf(await platform(t))
  const largest = Buffer.alloc(ENCRYPTION_PLAINTEXT_BYTES_MAX, 0xff)
  const plaintext = largest.toString("base64")
  const made = await encryption.encrypt({ plaintext, encoding: "base64" })
  assert.ok("ciphertext" in made)
  const opened = await encryption.decrypt({ ciphertext: made.ciphertext })
  assert.ok("plaintext" in opened && opened.plaintext === plaintext)
  const escaped = await encryption.encrypt({ plaintext: "\u0001".repeat(ENCRYPTION_PLAINTEXT_BYTES_MAX) })
  assert.ok("ciphertext" in escaped)

  const over = Buffer.alloc(ENCRYPTION_PLAINTEXT_BYTES_MAX + 1).toString("base64")
  const wide = "€".repeat(ENCRYPTION_PLAINTEXT_BYTES_MAX / 2)
  await assert.rejects(
    encryption.encrypt({ plaintext: over, encoding: "base64" }),
    refusedAs("invalid_parameter"),
  )
  await assert.rejects(encryption.encrypt({ plaintext: wide }), refusedAs("invalid_parameter"))
  const items = Array.from({ length: 5 }, () => ({ plaintext: "a".repeat(ENCRYPTION_PLAINTEXT_BYTES_MAX) }))
  await assert.rejects(encryption.encrypt({ items }), refusedAs("invalid_parameter"))
  const many = Array.from({ length: 501 }, () => ({ plaintext: "a" }))
  await assert.rejects(encryption.encrypt({ items: many }), refusedAs("validation_failed"))
})

test("what would not come back as it came is refused", async t => {
  const { encryption } = await acmeOf(await platform(t))
  await assert.rejects(
    encryption.encrypt({ plaintext: "half a pair \ud83d" }),
    refusedAs("invalid_parameter"),
  )
  for (const plaintext of ["AP8", "AP9=", "A P8=", "AP_-", "====", "\ud83d"])
    await assert.rejects(
      encryption.encrypt({ plaintext, encoding: "base64" }),
      refusedAs("invalid_parameter"),
      plaintext,
    )
})

test("a read-only key decrypts and does nothing else: encrypting makes the key and counts its uses", async t => {
  const p = await platform(t)
  const reader = p.as((await p.key("acme", BOTH_SCOPES, { project_id: null, read_only: true })).secret)
  await assert.rejects(reader.encryption.encrypt({ plaintext: "text" }), refusedAs("key_read_only", 403))
  assert.equal((await reader.encryption.key()).key_version, null)
  const text = await encrypted(await p.wide("acme", "encryption:use"), "text")
  assert.equal(await decrypted(reader, text), "text")
  await assert.rejects(reader.encryption.rewrap({ ciphertext: text }), refusedAs("key_read_only", 403))
  await assert.rejects(reader.encryption.rotateKey(), refusedAs("key_read_only", 403))
  await assert.rejects(
    reader.encryption.updateKey({ min_decryption_version: 1 }),
    refusedAs("key_read_only", 403),
  )
  const user = await p.wide("acme", "encryption:use")
  await assert.rejects(user.encryption.rotateKey(), refusedAs("missing_scope", 403))
})
