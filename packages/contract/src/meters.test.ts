import assert from "node:assert/strict"
import { test } from "node:test"
import { meterNames, meters } from "./meters.ts"

test("every meter is a snake_case word with a unit and a description", () => {
  for (const name of meterNames) {
    assert.match(name, /^[a-z]+(_[a-z]+)*$/)
    assert.notEqual(meters[name].unit, "")
    assert.match(meters[name].description, /^[A-Z].*[^.]$/)
  }
})
