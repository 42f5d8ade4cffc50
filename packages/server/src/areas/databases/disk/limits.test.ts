import assert from "node:assert/strict"
import { test } from "node:test"
import { createLimits, nextState } from "./limits.ts"

const GB = 1024 ** 3

test("limits are the plan's, or the operator's where those are less", () => {
  assert.deepEqual(createLimits()("free"), {
    databaseBytes: GB,
    projectBytes: 2 * GB,
    historyBytes: 2 * GB,
  })
  assert.deepEqual(createLimits()("enterprise"), {
    databaseBytes: null,
    projectBytes: null,
    historyBytes: null,
  })
  assert.deepEqual(createLimits(100)("enterprise"), {
    databaseBytes: 100,
    projectBytes: 200,
    historyBytes: 200,
  })
  assert.equal(createLimits(10 * GB)("free").databaseBytes, GB)
})

test("the fuller of two limits decides, and read-only ends below it", () => {
  const state = (now: "ok" | "warning" | "read_only", bytes: number, projectBytes: number) =>
    nextState(
      now,
      [
        { bytes, limit: 100 },
        { bytes: projectBytes, limit: 200 },
      ],
      { readOnlyVolumes: true },
    )
  assert.equal(state("ok", 79, 79), "ok")
  assert.equal(state("ok", 80, 80), "warning")
  assert.equal(state("warning", 100, 200), "warning")
  assert.equal(state("warning", 101, 101), "read_only")
  assert.equal(state("ok", 10, 201), "read_only")
  assert.equal(state("read_only", 96, 96), "read_only")
  assert.equal(state("read_only", 95, 95), "warning")
  const unlimited = [{ bytes: 10 ** 15, limit: null }]
  assert.equal(nextState("read_only", unlimited, { readOnlyVolumes: true }), "ok")
})

test("where an engine cannot stop writes, a database past its limit is warned of and not called read-only", () => {
  const state = (now: "ok" | "warning" | "read_only", bytes: number) =>
    nextState(now, [{ bytes, limit: 100 }], { readOnlyVolumes: false })
  assert.equal(state("ok", 79), "ok")
  assert.equal(state("ok", 1_000), "warning")
  assert.equal(state("warning", 1_000), "warning")
  assert.equal(state("read_only", 1_000), "warning")
})
