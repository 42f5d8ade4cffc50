import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { matchesFilter } from "./rules.ts"

const word = fc.stringMatching(/^[a-zA-Z0-9_-]{1,8}$/)
const type = fc.array(word, { minLength: 1, maxLength: 5 }).map(words => words.join("."))

test("no filter and * let every type through", () => {
  fc.assert(fc.property(type, eventType => matchesFilter([], eventType) && matchesFilter(["*"], eventType)))
})

test("a type without wildcard lets itself through and nothing else", () => {
  fc.assert(fc.property(type, type, (a, b) => matchesFilter([a], b) === (a === b)))
})

test("a wildcard lets through what lies below its words, and not its words alone", () => {
  fc.assert(
    fc.property(type, type, (prefix, rest) => {
      assert.ok(matchesFilter([`${prefix}.*`], `${prefix}.${rest}`))
      assert.ok(!matchesFilter([`${prefix}.*`], prefix))
    }),
  )
})

test("a wildcard ends at a dot: order.* has nothing of orders.paid", () => {
  fc.assert(fc.property(type, word, (prefix, more) => !matchesFilter([`${prefix}.*`], `${prefix}${more}.x`)))
})

test("a list lets through what any of its patterns does", () => {
  const pattern = fc.oneof(
    type,
    type.map(prefix => `${prefix}.*`),
    fc.constant("*"),
  )
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 5 }), type, (patterns, eventType) => {
      const any = patterns.some(one => matchesFilter([one], eventType))
      assert.equal(matchesFilter(patterns, eventType), any)
    }),
  )
})
