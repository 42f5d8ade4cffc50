import assert from "node:assert/strict"
import { test } from "node:test"
import { parseForm } from "./form.ts"

test("fields are decoded, and one that comes twice is a list", () => {
  assert.deepEqual(parseForm("a=1&b=x+y%20z&a=%C3%A9&c"), { a: ["1", "é"], b: "x y z", c: "" })
  assert.deepEqual(Object.keys(parseForm("__proto__=1")), ["__proto__"])
})

test("a long body of separators or escapes takes time in proportion to its length", () => {
  for (const piece of ["&", "%", "=", "+", "a=&", "%4"]) {
    const started = performance.now()
    parseForm(piece.repeat(1_000_000))
    // What looks back at all that came before would take minutes.
    assert.ok(performance.now() - started < 5_000, piece)
  }
})
