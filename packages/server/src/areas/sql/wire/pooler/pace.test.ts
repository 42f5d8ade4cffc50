import assert from "node:assert/strict"
import { test } from "node:test"
import { Pace } from "./pace.ts"

test("who sends nothing of what it owes is too slow after fifteen seconds", () => {
  const pace = new Pace()
  assert.equal(pace.isTooSlow(true, 0), false)
  assert.equal(pace.isTooSlow(true, 15_000), false)
  assert.equal(pace.isTooSlow(true, 15_001), true)
})

test("who sends on has longer: a second for each 64 KiB", () => {
  const pace = new Pace()
  pace.isTooSlow(true, 0)
  pace.arrived(10 * 64 * 1024)
  assert.equal(pace.isTooSlow(true, 25_000), false)
  // A byte now and then is no pace.
  pace.arrived(1)
  assert.equal(pace.isTooSlow(true, 25_001), true)
})

test("time counts from when something is owed, and anew after it came", () => {
  const pace = new Pace()
  assert.equal(pace.isTooSlow(false, 0), false)
  assert.equal(pace.isTooSlow(true, 60_000), false)
  assert.equal(pace.isTooSlow(false, 70_000), false)
  assert.equal(pace.isTooSlow(true, 80_000), false)
  assert.equal(pace.isTooSlow(true, 95_000), false)
})
