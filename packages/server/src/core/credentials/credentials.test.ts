import assert from "node:assert/strict"
import { test } from "node:test"
import { lockSecondsOf } from "./attempts.ts"
import { accountHash, guessedHash } from "./failure-store.ts"
import { createMailedTokens } from "./mailed-tokens.ts"
import { createRecoveryCodes, RECOVERY_CODES } from "./recovery-codes.ts"

const KEY = Buffer.alloc(32, 1)

test("a place rests from the tenth failure on, each time twice as long, up to an hour", () => {
  const rests = lockSecondsOf(10)
  assert.deepEqual(rests, [...Array(9).fill(null), 60, 120, 240, 480, 960, 1920, 3600])
})

test("failures of different secrets of one owner, and of an address, are counted apart", () => {
  const hashes = [accountHash("a@b.c"), guessedHash("totp", "a@b.c"), guessedHash("code", "a@b.c")]
  assert.equal(new Set(hashes.map(hash => hash.toString("hex"))).size, 3)
  assert.deepEqual(guessedHash("code", "A@B.C"), guessedHash("code", "a@b.c"))
})

test("ten recovery codes differ, work as people type them, and only for their owner", () => {
  const codes = createRecoveryCodes(KEY)
  const made = codes.make("ada")
  assert.equal(new Set(made.codes).size, RECOVERY_CODES)
  const [code = "", hash] = [made.codes[0], made.hashes[0]]
  assert.match(code, /^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/)
  assert.deepEqual(codes.hash("ada", ` ${code.toLowerCase().replace("-", " ").replaceAll("0", "o")}`), hash)
  assert.notDeepEqual(codes.hash("bob", code), hash)
  assert.notDeepEqual(createRecoveryCodes(Buffer.alloc(32, 2)).hash("ada", code), hash)
})

test("the code of a mail is checked by the row that it was mailed for", () => {
  const tokens = createMailedTokens("svc_test_", KEY)
  const { token, code, tokenHash, codeHash } = tokens.make("one")
  assert.match(token, /^svc_test_[\w-]{43}$/)
  assert.match(code, /^\d{6}$/)
  assert.deepEqual(tokens.tokenHash(token), tokenHash)
  assert.equal(tokens.isCode({ id: "one", code_hash: codeHash }, ` ${code} `), true)
  assert.equal(tokens.isCode({ id: "two", code_hash: codeHash }, code), false)
  assert.equal(tokens.isCode({ id: "one", code_hash: codeHash }, ""), false)
})
