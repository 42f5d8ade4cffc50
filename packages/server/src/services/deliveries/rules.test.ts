import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import {
  type AttemptResult,
  failingOf,
  probeDelayMs,
  RETRY_DELAYS_MS,
  retryAfterMs,
  retryDelayMs,
} from "./rules.ts"

const DAY = 86_400_000
const NOW = Date.parse("2026-11-20T18:00:00Z")
const failed: AttemptResult = { statusCode: 500, errorCode: "http_status", retryAfter: undefined }
const middle = () => 0.5

const delay = (verdict: AttemptResult, retry: number, random = middle) =>
  retryDelayMs({ verdict, retry, schedule: RETRY_DELAYS_MS, nowMs: NOW, random })

test("the delays are those of the specification's example, and the last one repeats", () => {
  const hours = (n: number) => n * 3_600_000
  const expected = [5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24, 24, 24].map(hours)]
  assert.deepEqual(
    expected.map((_, at) => delay(failed, at + 1)),
    expected,
  )
  const nine = expected.slice(0, 9).reduce((sum, ms) => sum + ms, 0)
  assert.equal(nine, hours(75) + 35 * 60_000 + 5_000)
})

test("every delay lies within a fifth of its schedule", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (retry, random) => {
        const ratio = delay(failed, retry, () => random) / delay(failed, retry)
        assert.ok(ratio >= 0.799 && ratio <= 1.201)
      },
    ),
  )
})

test("an endpoint that timed out or asked for less is left alone for a minute", () => {
  assert.equal(delay({ ...failed, statusCode: null, errorCode: "timeout" }, 1), 60_000)
  assert.equal(delay({ ...failed, statusCode: 429 }, 1), 60_000)
  assert.equal(delay({ ...failed, statusCode: 429 }, 2), 300_000)
})

test("Retry-After is honoured between the delay and twice the delay", () => {
  const asked = (retryAfter: string) => delay({ ...failed, statusCode: 503, retryAfter }, 2)
  assert.equal(asked("1"), 300_000)
  assert.equal(asked("400"), 400_000)
  assert.equal(asked("999999"), 600_000)
  assert.equal(asked(new Date(NOW + 450_000).toUTCString()), 450_000)
  assert.equal(asked("soon"), 300_000)
})

test("Retry-After never makes a delay that is no time", () => {
  fc.assert(
    fc.property(fc.string(), value => {
      const ms = retryAfterMs(value, NOW)
      assert.ok(ms === undefined || (ms >= 0 && Number.isFinite(ms)))
    }),
  )
})

test("probes of a dead endpoint come at least every five minutes", () => {
  assert.equal(probeDelayMs(0, middle), 5_000)
  assert.equal(probeDelayMs(1, middle), 300_000)
  assert.equal(probeDelayMs(50, middle), 300_000)
})

test("an endpoint is switched off after five days without a success, or at once when it says that it is gone", () => {
  assert.equal(failingOf(null, NOW, failed).disable, undefined)
  assert.equal(failingOf(NOW - 5 * DAY + 1, NOW, failed).disable, undefined)
  assert.equal(failingOf(NOW - 5 * DAY, NOW, failed).disable, "failing")
  assert.equal(failingOf(null, NOW, { ...failed, statusCode: 410 }).disable, "gone")
})

test("a failure of long ago with nothing after it does not switch an endpoint off", () => {
  const failing = failingOf(NOW - 11 * DAY, NOW, failed)
  assert.deepEqual(failing, { sinceMs: NOW, disable: undefined })
})
