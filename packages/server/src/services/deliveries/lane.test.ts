import assert from "node:assert/strict"
import { test } from "node:test"
import type { Endpoint } from "./deliveries.ts"
import { createLane, roomOf, takeSettings } from "./lane.ts"

const claimed = {
  ...{ endpointId: "endpoint", tenantId: "tenant", kind: "webhook" },
  ...{ consecutiveFailures: 0, failingSinceMs: null, isWarned: false, blockedUntilMs: null },
  hasSucceeded: true,
}
const endpoint = (maxPerSecond: number | null): Endpoint => ({
  ...{ target: { url: "https://example.com" }, secrets: [], maxPerSecond },
})

test("a bound begins when it is set, however much was sent before", () => {
  const lane = createLane(claimed, 0)
  for (let sent = 0; sent < 100_000; sent++) {
    takeSettings(lane, endpoint(null))
    lane.tokens--
  }
  takeSettings(lane, endpoint(1))
  assert.equal(roomOf(lane, 2_000), 1)
})

test("what is under way when a bound is set counts", () => {
  const lane = createLane(claimed, 0)
  for (const id of ["a", "b", "c"]) {
    lane.flying.add(id)
    lane.tokens--
  }
  takeSettings(lane, endpoint(1))
  lane.flying.clear()
  assert.equal(roomOf(lane, 2_000), 0)
  assert.equal(roomOf(lane, 3_000), 1)
})
