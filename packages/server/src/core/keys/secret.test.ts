import assert from "node:assert/strict"
import { test } from "node:test"
import { keyTypes } from "@svc/contract"
import fc from "fast-check"
import { listenForChanges } from "../../kernel/db/changes.ts"
import { openDatabase } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import { createLog } from "../../kernel/log.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { createApiKeyCache } from "./key-cache.ts"
import { isWellFormed, newSecret, prefixes, secretHash, visiblePrefix } from "./secret.ts"

const BASE62 = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"]
const types = fc.constantFrom(...keyTypes)
const character = fc.constantFrom(...BASE62)

const replaceAt = (text: string, at: number, by: string) => text.slice(0, at) + by + text.slice(at + 1)
const flipCase = (letter: string) =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()

test("a new secret is well formed, of its type, and shows only its beginning", () => {
  fc.assert(
    fc.property(types, type => {
      const secret = newSecret(type)
      assert.ok(isWellFormed(secret))
      assert.match(secret, new RegExp(`^${prefixes[type]}[0-9A-Za-z]{49}$`))
      assert.equal(visiblePrefix(type, secret), secret.slice(0, prefixes[type].length + 8))
    }),
  )
})

test("a secret with one wrong character anywhere is not well formed", () => {
  fc.assert(
    fc.property(types, fc.nat(), character, (type, position, by) => {
      const secret = newSecret(type)
      const at = prefixes[type].length + (position % 49)
      fc.pre(secret[at] !== by)
      assert.ok(!isWellFormed(replaceAt(secret, at, by)))
    }),
    { numRuns: 1000 },
  )
})

test("a secret under another type's prefix, in another case, or with anything around it is not well formed", () => {
  fc.assert(
    fc.property(types, types, fc.nat(), (type, other, position) => {
      const secret = newSecret(type)
      const random = secret.slice(prefixes[type].length)
      if (other !== type) assert.ok(!isWellFormed(prefixes[other] + random))
      const at = prefixes[type].length + (position % 49)
      const flipped = flipCase(secret[at] ?? "")
      if (flipped !== secret[at]) assert.ok(!isWellFormed(replaceAt(secret, at, flipped)))
      assert.ok(!isWellFormed(prefixes[type].toUpperCase() + random))
      for (const around of [`${secret} `, ` ${secret}`, `${secret}\n`, `${secret}\0`, secret.slice(0, -1)])
        assert.ok(!isWellFormed(around))
    }),
  )
})

test("what is no secret is refused without a query, ten thousand guesses of the right shape included", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const { db, pool } = openDatabase({
    connectionString: database.url,
    connectionsMax: 1,
    onError: () => undefined,
  })
  const changes = await listenForChanges(database.url, createLog("silent"))
  t.after(() => changes[Symbol.asyncDispose]())
  const keyCache = createApiKeyCache(db, changes)
  // Without connections every query would reject; a refusal is thrown before that.
  await pool.end()
  const refusesAtOnce = (secret: string) =>
    assert.throws(
      () => keyCache.find(secret, 0),
      error => isFault(error, "invalid_api_key"),
    )

  const guess = fc.tuple(types, fc.array(character, { minLength: 49, maxLength: 49 }))
  for (const [type, letters] of fc.sample(guess, 10_000)) refusesAtOnce(prefixes[type] + letters.join(""))
  for (const text of ["", "svc_sk_", "svc_sk_ü", "x".repeat(100_000), `${newSecret("secret")} `]) {
    refusesAtOnce(text)
  }
  await assert.rejects(async () => keyCache.find(newSecret("secret"), 0), { message: /pool/ })
})

test("two secrets are never the same, and their hashes tell nothing of them", () => {
  const secrets = Array.from({ length: 1000 }, () => newSecret("secret"))
  assert.equal(new Set(secrets).size, 1000)
  for (const secret of secrets) assert.equal(Buffer.from(secretHash(secret), "base64").length, 32)
})
