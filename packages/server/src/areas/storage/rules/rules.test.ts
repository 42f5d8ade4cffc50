import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { parseRange, piecesOf } from "../../../kernel/byte-ranges.ts"
import type { Conditions } from "../object-store.ts"
import { compositeChecksum, compositeEtag } from "./checksums.ts"
import { admitsWrite, isSameForRange, judgeRead, parseConditions } from "./conditions.ts"
import { successorOf } from "./names.ts"
import { pathOf } from "./signed-urls.ts"

test("a range header is read as RFC 9110 says", () => {
  const cases: [string | undefined, number, ReturnType<typeof parseRange>][] = [
    [undefined, 10, "all"],
    ["bytes=0-0", 10, { start: 0, end: 0 }],
    ["bytes=2-100", 10, { start: 2, end: 9 }],
    ["Bytes=9-", 10, { start: 9, end: 9 }],
    ["bytes=-1", 10, { start: 9, end: 9 }],
    ["bytes=-100", 10, { start: 0, end: 9 }],
    ["bytes=-0", 10, "unsatisfiable"],
    ["bytes=10-", 10, "unsatisfiable"],
    ["bytes=0-", 0, "unsatisfiable"],
    ["bytes=-5", 0, "unsatisfiable"],
    ["bytes=5-2", 10, "all"],
    ["bytes=0-1,3-4", 10, "all"],
    ["bytes=-", 10, "all"],
    ["bytes=a-b", 10, "all"],
    ["items=0-1", 10, "all"],
    ["bytes=99999999999999999999-", 10, "all"],
  ]
  for (const [header, size, expected] of cases)
    assert.deepEqual(parseRange(header, size), expected, `${header} of ${size}`)
})

test("the pieces of a range are exactly its bytes", () => {
  const parts = fc.array(fc.string({ minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(parts, fc.nat(), fc.nat(), (texts, a, b) => {
      const whole = texts.join("")
      const [start = 0, end = 0] = [a % whole.length, b % whole.length].sort((x, y) => x - y)
      const pieces = piecesOf(
        texts.map(text => ({ text, size: text.length })),
        ({ size }) => size,
        { start, end },
      )
      const read = pieces.map(({ part, range }) => part.text.slice(range.start, range.end + 1)).join("")
      assert.equal(read, whole.slice(start, end + 1))
    }),
  )
})

const AT = new Date("2026-01-02T03:04:05.678Z")
const state = { etag: "abc", lastModified: AT }
const later = new Date(AT.getTime() + 5_000)
const earlier = new Date(AT.getTime() - 5_000)

test("conditions of a read are judged in the order of RFC 9110", () => {
  const cases: [Conditions, ReturnType<typeof judgeRead>][] = [
    [{ ifMatch: ["abc"] }, "go_on"],
    [{ ifMatch: ["*"] }, "go_on"],
    [{ ifMatch: ["x"] }, "failed"],
    [{ ifMatch: ["abc"], ifUnmodifiedSince: earlier }, "go_on"],
    [{ ifUnmodifiedSince: earlier }, "failed"],
    [{ ifUnmodifiedSince: new Date("2026-01-02T03:04:05Z") }, "go_on"],
    [{ ifNoneMatch: ["abc"] }, "not_modified"],
    [{ ifNoneMatch: ["x"], ifModifiedSince: later }, "go_on"],
    [{ ifModifiedSince: later }, "not_modified"],
    [{ ifModifiedSince: new Date("2026-01-02T03:04:05Z") }, "not_modified"],
    [{ ifModifiedSince: earlier }, "go_on"],
    [{ ifMatch: ["x"], ifNoneMatch: ["abc"] }, "failed"],
  ]
  for (const [conditions, expected] of cases)
    assert.equal(judgeRead(conditions, state), expected, JSON.stringify(conditions))
})

test("conditions of a write are judged for what is there, or is not", () => {
  assert.ok(admitsWrite({ ifNoneMatch: ["*"] }, undefined))
  assert.ok(!admitsWrite({ ifNoneMatch: ["*"] }, state))
  assert.ok(!admitsWrite({ ifMatch: ["*"] }, undefined))
  assert.ok(admitsWrite({ ifMatch: ["abc"] }, state))
  assert.ok(admitsWrite({ ifUnmodifiedSince: earlier }, undefined))
  assert.ok(!admitsWrite({ ifUnmodifiedSince: earlier }, state))
})

test("entity tags are read from every spelling, and a weak one never passes for a strong", () => {
  const read = (name: string, value: string) => parseConditions(asked => (asked === name ? value : undefined))
  assert.deepEqual(read("if-match", '"a", "b,c" , "d"'), { ifMatch: ["a", "b,c", "d"] })
  assert.deepEqual(read("if-match", "*"), { ifMatch: ["*"] })
  assert.deepEqual(read("if-match", "unquoted"), { ifMatch: ["unquoted"] })
  assert.deepEqual(read("if-match", 'W/"abc"'), { ifMatch: ['W/"abc"'] })
  assert.deepEqual(read("if-none-match", 'W/"abc"'), { ifNoneMatch: ["abc"] })
  assert.equal(read("if-modified-since", "yesterday"), undefined)
  assert.ok(isSameForRange('"abc"', state))
  assert.ok(!isSameForRange('W/"abc"', state))
  assert.ok(isSameForRange(AT.toUTCString(), state))
  assert.ok(!isSameForRange(later.toUTCString(), state))
})

test("nothing that begins with a text comes after its successor, and all that comes after does not begin so", () => {
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 5 }).filter(value => value.isWellFormed())
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const next = successorOf(prefix)
      if (next === undefined) return assert.match(prefix, /^\u{10ffff}+$/u)
      assert.ok(compare(prefix + other, next) < 0)
      assert.ok(next.isWellFormed())
      if (compare(other, prefix) >= 0 && compare(other, next) < 0) assert.ok(other.startsWith(prefix))
    }),
    { numRuns: 2000 },
  )
  assert.equal(successorOf("a\ud7ff"), "a\ue000")
})

test("ETag and checksums of parts are those of S3", () => {
  const md5 = (text: string) => createHash("md5").update(text).digest("hex")
  const both = createHash("md5")
    .update(Buffer.from(md5("a") + md5("b"), "hex"))
    .digest("hex")
  assert.equal(compositeEtag([md5("a"), md5("b")]), `${both}-2`)
  const sum = (text: string | Buffer) => createHash("sha256").update(text).digest()
  const expected = sum(Buffer.concat([sum("a"), sum("b")])).toString("base64")
  const given = [sum("a"), sum("b")].map(part => part.toString("base64"))
  assert.equal(compositeChecksum("sha256", given), `${expected}-2`)
})

test("the path of a key survives every parser of URLs", () => {
  const key = fc.string({ unit: "grapheme", minLength: 1 }).filter(text => text !== "." && text !== "..")
  const odd = fc.array(fc.constantFrom(".", "..", "", "a", "%2e", "?", "#"), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.oneof(
        key,
        odd.map(parts => parts.join("/")),
      ),
      text => {
        if (text === "" || !text.isWellFormed()) return
        const { pathname, search, hash } = new URL(`http://host/x/${pathOf(text)}`)
        assert.equal(decodeURIComponent(pathname.slice("/x/".length)), text)
        assert.equal(search + hash, "")
      },
    ),
  )
})
