import assert from "node:assert/strict"
import { test } from "node:test"
import type { Endpoint } from "./deliveries.ts"
import { createEndpointQueue, roomOf, takeSettings } from "./endpoint-queue.ts"

const claimed = {
  ...{ endpointId: "endpoint", tenantId: "tenant", kind: "webhook" },
  ...{ consecutiveFailures: 0, failingSinceMs: null, isWarned: false, blockedUntilMs: null },
  hasSucceeded: true,
}
const endpoint = (maxPerSecond: number | null): Endpoint => ({
  ...{ target: { url: "https://example.com" }, secrets: [], maxPerSecond },
})

test("a bound begins when it is set, however much was sent before", () => {
  const queue = createEndpointQueue(claimed, 0)
  for (let sent = 0; sent < 100_000; sent++) {
    takeSettings(queue, endpoint(null))
    queue.tokens--
  }
  takeSettings(queue, endpoint(1))
  assert.equal(roomOf(queue, 2_000), 1)
})

test("what is under way when a bound is set counts", () => {
  const queue = createEndpointQueue(claimed, 0)
  for (const id of ["a", "b", "c"]) {
    queue.flying.add(id)
    queue.tokens--
  }
  takeSettings(queue, endpoint(1))
  queue.flying.clear()
  assert.equal(roomOf(queue, 2_000), 0)
  assert.equal(roomOf(queue, 3_000), 1)
})
