/** What runs while one version takes the place of another, and what is said of it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { cannotArrive, countsOf, type Desired, hasArrived, statusOf, wantedOf } from "./rules.ts"

const desired = (given: Partial<Desired> = {}): Desired => ({
  ...{ min_instances: 3, generation: 2, ready_generation: 1, failed_generation: null, failed_reason: null },
  ...given,
})

type Status = Parameters<typeof countsOf>[0][number]["status"]
const counts = (...statuses: Status[]) =>
  countsOf(
    statuses.map(status => ({
      status,
      reason: status === "FAILED" || status === "RESTARTING" ? "it ended" : null,
    })),
  )
const none = counts()

test("one instance more than are wanted runs at a time, and never fewer are ready", () => {
  for (let ready = 0; ready <= 3; ready++) {
    const { target, before } = wantedOf(desired(), { ready, done: 0 })
    assert.deepEqual([target, before], [Math.min(3, ready + 1), 3 - ready])
  }
  assert.deepEqual(wantedOf(desired({ ready_generation: null }), { ready: 0, done: 0 }), {
    target: 3,
    before: 0,
  })
  assert.deepEqual(wantedOf(desired({ failed_generation: 2 }), { ready: 1, done: 0 }), {
    target: 0,
    before: 3,
  })
  assert.deepEqual(wantedOf(desired({ min_instances: 0 }), { ready: 0, done: 0 }), { target: 0, before: 0 })
})

test("a version arrives with its last instance, and cannot once one is given up", () => {
  assert.equal(hasArrived(desired(), counts("RUNNING", "RUNNING", "STARTING")), false)
  assert.equal(hasArrived(desired(), counts("RUNNING", "RUNNING", "DONE")), true)
  assert.equal(hasArrived(desired({ ready_generation: 2 }), counts("RUNNING", "RUNNING", "RUNNING")), false)
  assert.equal(cannotArrive(desired(), counts("RUNNING", "FAILED")), true)
  assert.equal(cannotArrive(desired({ ready_generation: null }), counts("FAILED")), false)
})

test("the status is that of all instances together", () => {
  const first = desired({ ready_generation: null })
  const settled = desired({ ready_generation: 2 })
  const failed = desired({ failed_generation: 2, failed_reason: "why" })
  const all = counts("RUNNING", "RUNNING", "RUNNING")
  const cases: [Parameters<typeof statusOf>, string, string | null, number][] = [
    [[desired({ min_instances: 0 }), none, none], "STOPPED", null, 0],
    [[first, none, none], "DEPLOYING", null, 0],
    [[first, counts("RUNNING", "RESTARTING", "STARTING"), none], "DEPLOYING", "it ended", 1],
    [[first, counts("FAILED", "FAILED", "FAILED"), none], "FAILED", "it ended", 0],
    [[first, all, none], "RUNNING", null, 3],
    [[settled, counts("RUNNING", "RUNNING", "RESTARTING"), none], "DEGRADED", "it ended", 2],
    [[settled, counts("RUNNING", "RUNNING", "STARTING"), none], "DEPLOYING", null, 2],
    [[settled, counts("RUNNING", "FAILED", "FAILED"), none], "DEGRADED", "it ended", 1],
    [[settled, counts("DONE", "DONE", "DONE"), none], "STOPPED", "its instances have ended", 0],
    [[desired(), counts("RUNNING"), counts("RUNNING", "RUNNING")], "DEPLOYING", null, 3],
    [[failed, none, all], "DEGRADED", "why", 3],
    [[failed, none, none], "FAILED", "why", 0],
  ]
  for (const [given, status, reason, ready] of cases)
    assert.deepEqual(statusOf(...given), { status, reason, ready }, `${status} of ${ready}`)
})
