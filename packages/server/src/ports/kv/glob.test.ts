import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { globMatcher, literalPrefix } from "./glob.ts"

const CASES: readonly [pattern: string, text: string, matches: boolean][] = [
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["*", "anything", true],
  ["user:*", "user:1", true],
  ["user:*", "user", false],
  ["*:1", "user:1", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-b-b-", false],
  ["a**c", "ac", true],
  ["h?llo", "hello", true],
  ["h?llo", "hllo", false],
  ["?", "😀", true],
  ["😀*", "😀!", true],
  ["h[ae]llo", "hallo", true],
  ["h[ae]llo", "hillo", false],
  ["h[^e]llo", "hallo", true],
  ["h[^e]llo", "hello", false],
  ["h[^e]llo", "hllo", false],
  ["[a-c]", "b", true],
  ["[c-a]", "b", true],
  ["[a-c]", "d", false],
  ["[α-ω]", "λ", true],
  ["[a-cx-z]", "y", true],
  ["[-a]", "-", true],
  ["[\\]]", "]", true],
  ["[\\-z]", "m", false],
  ["[]", "a", false],
  ["[^]", "a", true],
  ["[ab", "b", true],
  ["[", "[", false],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["\\[a]", "[a]", true],
  ["a\\", "a\\", true],
  ["\0*", "\0a", true],
  ["a.c", "abc", false],
  ["A", "a", false],
]

test("a glob matches as Redis's grammar says", () => {
  for (const [pattern, text, matches] of CASES) {
    assert.equal(globMatcher(pattern)(text), matches, `${JSON.stringify(pattern)} on ${JSON.stringify(text)}`)
  }
})

/** Says the same by trying every way of reading `*`; right by inspection, and far too slow. */
const matchesByTrying = (pattern: readonly string[], text: string): boolean => {
  const [piece, ...rest] = pattern
  if (piece === undefined) return text === ""
  if (piece === "*")
    return matchesByTrying(rest, text) || (text !== "" && matchesByTrying(pattern, text.slice(1)))
  if (text === "") return false
  const isMatch =
    piece === "?" ||
    (piece.startsWith("[")
      ? piece.startsWith("[^") !== piece.slice(1).includes(text.charAt(0))
      : piece === text[0])
  return isMatch && matchesByTrying(rest, text.slice(1))
}

test("a glob matches what trying every reading finds", () => {
  const piece = fc.constantFrom("a", "b", "c", "*", "?", "[ab]", "[^ab]", "[^c]")
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 10 })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), text, (pieces, text) => {
      assert.equal(globMatcher(pieces.join(""))(text), matchesByTrying(pieces, text))
    }),
    { numRuns: 2_000 },
  )
})

test("what matches a glob begins with its literal prefix", () => {
  assert.equal(literalPrefix("user:*"), "user:")
  assert.equal(literalPrefix("a\\*b?"), "a*b")
  assert.equal(literalPrefix("plain"), "plain")
  assert.equal(literalPrefix("[a]"), "")
  assert.equal(literalPrefix("end\\"), "end\\")
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "\\", "[", "]"), maxLength: 8 })
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "\\"), maxLength: 8 })
  fc.assert(
    fc.property(pattern, text, (pattern, text) => {
      if (globMatcher(pattern)(text)) assert.ok(text.startsWith(literalPrefix(pattern)))
    }),
    { numRuns: 2_000 },
  )
})

test("a mean pattern takes text times pattern steps, not more", () => {
  const text = "a".repeat(1024)
  const steps = (pattern: string) => {
    const started = process.cpuUsage()
    assert.equal(globMatcher(pattern)(text), false)
    return process.cpuUsage(started).user / 1_000
  }
  // Backtracking into every star would take 2^1024 steps here; a million take milliseconds.
  assert.ok(steps(`${"a*".repeat(511)}b`) < 1_000)
  assert.ok(steps(`*${"a".repeat(512)}b`) < 1_000)
})
