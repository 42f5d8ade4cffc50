import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { type Due, jitterOf, LATE_MS, planDue, TICKS_MAX } from "./planning.ts"
import { timesOf } from "./timetable.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const everySeconds = (intervalSeconds: number, rest: Partial<Due> = {}): Due => {
  const timing = { cron: null, intervalSeconds, runAtMs: null, timezone: "UTC", anchorMs: 0 }
  const next = timesOf({ ...timing, startMs: null, endMs: null })
  const planned = { plannedMs: [next(0) ?? 0], catchup: "latest", windowMs: HOUR_MS, jitterMs: 0 } as const
  return { id: "a", next, ...planned, ...rest }
}

const shape = (due: Due, nowMs: number) => {
  const { runs, missed, nextMs, dueMs } = planDue(due, nowMs)
  return {
    runs: runs.map(({ scheduledForMs, trigger }) => [scheduledForMs / 1_000, trigger]),
    missed: missed.map(({ scheduledForMs, lastMs, reason }) => [
      scheduledForMs / 1_000,
      lastMs / 1_000,
      reason,
    ]),
    next: (nextMs[0] ?? Number.NaN) / 1_000,
    due: (dueMs ?? Number.NaN) / 1_000,
  }
}

test("a time that is due runs once, and the next one follows", () => {
  assert.deepEqual(shape(everySeconds(60), MINUTE_MS + 3), {
    runs: [[60, "schedule"]],
    missed: [],
    next: 120,
    due: 120,
  })
})

test("after downtime the latest run is made up for, all within the window, or none", () => {
  const nowMs = 10 * MINUTE_MS + 30_000
  assert.deepEqual(shape(everySeconds(60), nowMs), {
    runs: [[600, "catchup"]],
    missed: [[60, 540, null]],
    next: 660,
    due: 660,
  })
  const all = shape(everySeconds(60, { catchup: "all", windowMs: 5 * MINUTE_MS }), nowMs)
  assert.deepEqual(all.missed, [[60, 300, "outside_catchup_window"]])
  assert.deepEqual(
    all.runs,
    [360, 420, 480, 540, 600].map(at => [at, "catchup"]),
  )
  assert.deepEqual(shape(everySeconds(60, { catchup: "none" }), nowMs), {
    runs: [],
    missed: [[60, 600, null]],
    next: 660,
    due: 660,
  })
})

test("a run that is due right now is no made-up one, and the late ones before it are missed", () => {
  assert.deepEqual(shape(everySeconds(60), 10 * MINUTE_MS + 1), {
    runs: [[600, "schedule"]],
    missed: [[60, 540, null]],
    next: 660,
    due: 660,
  })
})

test("the only time of a schedule is missed when it is too late for it", () => {
  const due = {
    ...everySeconds(60),
    next: (after: number) => (after < 5_000 ? 5_000 : undefined),
    plannedMs: [5_000],
  }
  assert.deepEqual(planDue({ ...due, windowMs: MINUTE_MS }, HOUR_MS).missed.length, 1)
  assert.deepEqual(planDue({ ...due, windowMs: MINUTE_MS }, HOUR_MS).nextMs, [])
  assert.deepEqual(planDue(due, MINUTE_MS).runs.length, 1)
})

test("however late, whatever the jitter: each time is run or missed once, in order, and in bounded work", () => {
  const given = fc.record({
    seconds: fc.integer({ min: 1, max: 4_000 }),
    nowMs: fc.integer({ min: 1_000, max: 40 * 86_400_000 }),
    catchup: fc.constantFrom("latest", "all", "none"),
    windowMs: fc.integer({ min: 10_000, max: 10 * 86_400_000 }),
    jitterMs: fc.constantFrom(0, 0, 5_000, 600_000),
  })
  fc.assert(
    fc.property(given, ({ seconds, nowMs, ...rest }) => {
      let due = everySeconds(seconds, rest as Partial<Due>)
      let expected = due.plannedMs[0] ?? 0
      for (let look = 0; look < 3; look++) {
        const plan = planDue(due, nowMs)
        assert.ok(plan.runs.length <= TICKS_MAX)
        const stretches = [
          ...plan.missed.map(({ scheduledForMs, lastMs }) => [scheduledForMs, lastMs] as const),
          ...plan.runs.map(({ scheduledForMs }) => [scheduledForMs, scheduledForMs] as const),
        ].sort(([a], [b]) => a - b)
        for (const [from, to] of stretches) {
          // What is late by its jitter alone may be left out without a word.
          if (rest.jitterMs === 0) assert.equal(from, expected)
          assert.ok(from >= expected && to >= from && to <= nowMs)
          expected = to + seconds * 1_000
        }
        for (const { dueMs, trigger } of plan.runs) {
          assert.ok(dueMs <= nowMs)
          assert.equal(trigger, nowMs - dueMs > LATE_MS ? "catchup" : "schedule")
        }
        if (rest.catchup === "none") assert.ok(plan.runs.every(({ trigger }) => trigger === "schedule"))
        due = { ...due, plannedMs: plan.nextMs }
        if ((plan.dueMs ?? nowMs + 1) > nowMs) return
      }
    }),
  )
})

test("jitter is the same for whoever asks, stays in its bounds and differs between schedules", () => {
  const values = Array.from({ length: 200 }, (_, n) => jitterOf(`${n}`, 60_000, 10_000))
  assert.deepEqual(
    values,
    Array.from({ length: 200 }, (_, n) => jitterOf(`${n}`, 60_000, 10_000)),
  )
  assert.ok(values.every(value => value >= 0 && value <= 10_000))
  assert.ok(new Set(values).size > 150)
})
