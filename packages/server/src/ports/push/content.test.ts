import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { fitContent } from "./content.ts"
import { retryAfterMs } from "./retry-after.ts"

const base = { id: "1", title: "T", body: "b", type: null, category: null, actionUrl: null, data: {} }
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
const same = <Value>(value: Value): Value => value

test("content that fits is sent whole; what is longer loses its data, then the end of its body", () => {
  const small = { ...base, data: { a: 1 } }
  assert.equal(fitContent(small, 3_000, same), small)
  assert.deepEqual(fitContent({ ...base, data: { a: "x".repeat(5_000) } }, 3_000, same), base)
  const cut = fitContent({ ...base, body: "x".repeat(5_000) }, 3_000, same)
  assert.ok(bytes(cut) <= 3_000)
  assert.match(cut.body, /^x+…$/)
})

test("whatever is in it, it fits, and is well-formed", () => {
  const text = fc.string({ unit: "binary", maxLength: 4_000, size: "max" })
  fc.assert(
    fc.property(text, fc.webUrl(), (body, actionUrl) => {
      const fitted = fitContent({ ...base, body, actionUrl, data: { body } }, 3_000, same)
      assert.ok(bytes(fitted) <= 3_000)
      assert.ok(fitted.body.isWellFormed())
    }),
    { numRuns: 200 },
  )
})

test("Retry-After is seconds or a time", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  assert.equal(retryAfterMs("120", now), 120_000)
  assert.equal(retryAfterMs("Thu, 01 Jan 2026 00:01:00 GMT", now), 60_000)
  assert.equal(retryAfterMs("Wed, 31 Dec 2025 00:01:00 GMT", now), 0)
  assert.equal(retryAfterMs("soon", now), undefined)
  assert.equal(retryAfterMs(undefined, now), undefined)
})
