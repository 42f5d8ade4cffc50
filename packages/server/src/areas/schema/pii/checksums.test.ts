/** Check digits, by numbers that their issuers publish as examples. */
import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import * as all from "./checksums.ts"

const checksums: Readonly<Record<string, (text: string) => boolean>> = { ...all }

const examples: [keyof typeof all, readonly string[]][] = [
  [
    "isCardNumber",
    ["4111111111111111", "5555555555554444", "2223003122003222", "378282246310005", "6011111111111117"],
  ],
  ["isCardNumber", ["30569309025904", "3530111333300000", "6759649826438453"]],
  ["isIban", ["DE89370400440532013000", "GB82WEST12345698765432", "FR1420041010050500013M02606"]],
  ["isAadhaar", ["234123412346"]],
  ["isBsn", ["111222333", "123456782"]],
  ["isGermanTaxId", ["86095742719", "47036892816"]],
  ["isNir", ["255081416802538"]],
  ["isDni", ["12345678Z", "X1234567L"]],
  ["isFiscalCode", ["RSSMRA85T10A562S"]],
  ["isPesel", ["44051401359"]],
  ["isNhsNumber", ["9434765919"]],
  ["isCpf", ["52998224725", "11144477735"]],
]

for (const [name, valid] of examples) {
  test(`${name} takes ${valid[0]} and its like, and none with one character changed`, () => {
    for (const text of valid) {
      assert.ok(checksums[name]?.(text), text)
      const last = text.length - 1
      const wrong = /\d/.test(text[last] ?? "")
        ? String((Number(text[last]) + 1) % 10)
        : text[last] === "A"
          ? "B"
          : "A"
      assert.ok(!checksums[name]?.(text.slice(0, last) + wrong), `${text} with ${wrong}`)
    }
  })
}

test("no text of any kind breaks a check", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40, unit: "binary" }), text => {
      for (const check of Object.values(checksums)) assert.equal(typeof check(text), "boolean")
    }),
  )
})

test("a number of one digit repeated is nobody's", () => {
  for (const name of ["isCardNumber", "isBsn", "isNhsNumber", "isCpf", "isAadhaar"] as const)
    for (const length of [9, 10, 11, 12, 16])
      for (const digit of "0123456789")
        assert.ok(!checksums[name]?.(digit.repeat(length)), `${name} ${digit}`)
})
