import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { hasRawNumbers, isRawNumber, parseJson, toDoubles, toTexts } from "./exact-json.ts"

/** Texts of numbers as JSON has them, not only those that a double writes. */
const numberText = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9]\d{0,24}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.\d{1,20}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?\d{1,2}$/)),
  )
  .map(parts => parts.join(""))

test("a number is written as it was read, digit by digit", () => {
  const known = ["9007199254740993", "1.10", "1e2", "1E2", "-0", "0.0", "0.0000001", "123456789.123456789012"]
  for (const text of known) assert.equal(JSON.stringify(parseJson(text)), text)
  fc.assert(
    fc.property(numberText, text => JSON.stringify(parseJson(`{"a":[${text}]}`)) === `{"a":[${text}]}`),
  )
})

test("a number that a double writes the same is a number, and no string is taken for one", () => {
  for (const text of ["0", "-1", "1.5", "0.1", "123456789012345", "9007199254740991", "1e+21"])
    assert.equal(typeof parseJson(text), "number", text)
  for (const text of [
    '"1.10"',
    '{"1.10":"\\"9007199254740993"}',
    '["\\\\","1e2","-0"]',
    '"at 15:42:30.120Z"',
  ])
    assert.equal(hasRawNumbers(text), false, text)
  fc.assert(fc.property(fc.jsonValue(), value => !hasRawNumbers(JSON.stringify(value).replaceAll("-0", "0"))))
})

test("a value with such numbers is copied whole, and read as doubles or texts where code computes or prints", () => {
  const value = parseJson('{"a":[1.10,{"b":9007199254740993}],"c":"x","__proto__":1.0}')
  assert.equal(JSON.stringify(parseJson(JSON.stringify(value))), JSON.stringify(value))
  assert.equal(JSON.stringify(toDoubles(value)), '{"a":[1.1,{"b":9007199254740992}],"c":"x","__proto__":1}')
  assert.equal(
    JSON.stringify(toTexts(value)),
    '{"a":["1.10",{"b":"9007199254740993"}],"c":"x","__proto__":"1.0"}',
  )
  assert.ok(isRawNumber(parseJson("1.0")))
  assert.ok(!isRawNumber({ rawJSON: "1.0" }))
})
