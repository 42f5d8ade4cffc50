import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { createBuckets, type Rate } from "./buckets.ts"

const rates: fc.Arbitrary<Rate> = fc.record({
  burst: fc.integer({ min: 1, max: 1000 }),
  perSecond: fc.oneof(
    fc.integer({ min: 1, max: 1000 }),
    fc.integer({ min: 1, max: 60 }).map(perMinute => perMinute / 60),
  ),
})

/** How far the clock moves before each attempt, in milliseconds; backwards too. */
const steps = fc.array(
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: -5_000, max: 5_000 })),
  {
    maxLength: 300,
  },
)

/** Fractions are not exact: that much of a token, and the millisecond after the one computed. */
const ROUNDING = 1e-6
const wholeMs = (ms: number): number => Math.floor(ms) + 1

test("no more is allowed than the burst and what the time has filled in", () => {
  fc.assert(
    fc.property(rates, steps, (rate, moves) => {
      const buckets = createBuckets()
      let nowMs = 1e12
      let forwardMs = 0
      let allowed = 0
      for (const move of moves) {
        nowMs += move
        forwardMs += Math.max(0, move)
        if (buckets.take("a", rate, nowMs).allowed) allowed += 1
        assert.ok(allowed <= rate.burst + (forwardMs / 1000) * rate.perSecond + ROUNDING)
      }
    }),
  )
})

test("a caller who keeps to the rate is never refused", () => {
  fc.assert(
    fc.property(rates, fc.integer({ min: 1, max: 300 }), (rate, attempts) => {
      const buckets = createBuckets()
      const gapMs = wholeMs(1000 / rate.perSecond)
      for (let attempt = 0; attempt < attempts; attempt++) {
        assert.ok(buckets.take("a", rate, 1e12 + attempt * gapMs).allowed)
      }
    }),
  )
})

test("what a bucket says of itself comes true", () => {
  fc.assert(
    fc.property(rates, steps, (rate, moves) => {
      const buckets = createBuckets()
      let nowMs = 1e12
      for (const move of moves) {
        nowMs += move
        const { allowed, limit, remaining, waitMs, fullAtMs } = buckets.take("a", rate, nowMs)
        assert.equal(limit, rate.burst)
        assert.ok(remaining >= 0 && remaining <= rate.burst - (allowed ? 1 : 0))
        assert.equal(waitMs > 0, remaining === 0)
        assert.ok(fullAtMs >= nowMs)
        assert.equal(buckets.peek("a", rate, nowMs).remaining, remaining)
      }
      nowMs += wholeMs(buckets.peek("a", rate, nowMs).waitMs)
      assert.ok(buckets.take("a", rate, nowMs).allowed)
      const { fullAtMs } = buckets.peek("a", rate, nowMs)
      assert.equal(buckets.peek("a", rate, wholeMs(fullAtMs)).remaining, rate.burst)
    }),
  )
})

test("looking takes nothing", () => {
  const buckets = createBuckets()
  for (let look = 0; look < 10; look++)
    assert.equal(buckets.peek("a", { burst: 2, perSecond: 1 }, 0).remaining, 2)
})

test("a clock that goes back neither drains a bucket nor stops its filling", () => {
  const buckets = createBuckets()
  const rate = { burst: 2, perSecond: 1 }
  buckets.take("a", rate, 3_600_000)
  buckets.take("a", rate, 3_600_000)
  assert.equal(buckets.take("a", rate, 3_600_000).allowed, false)
  assert.equal(buckets.take("a", rate, 0).allowed, false)
  assert.equal(buckets.take("a", rate, 1_000).allowed, true)
  assert.equal(buckets.take("a", rate, 1_000).allowed, false)
})

test("buckets of different names know nothing of each other", () => {
  const buckets = createBuckets()
  const rate = { burst: 1, perSecond: 1 }
  assert.equal(buckets.take("a", rate, 0).allowed, true)
  assert.equal(buckets.take("a", rate, 0).allowed, false)
  assert.equal(buckets.take("b", rate, 0).allowed, true)
})

test("a plan that changes counts from the next call on", () => {
  const buckets = createBuckets()
  for (let call = 0; call < 5; call++) buckets.take("a", { burst: 100, perSecond: 100 }, 0)
  assert.equal(buckets.peek("a", { burst: 20, perSecond: 20 }, 0).remaining, 20)
  assert.equal(buckets.peek("a", { burst: 100, perSecond: 100 }, 10).remaining, 21)
})

test("past its size the least recently used bucket is forgotten, and only that", () => {
  const buckets = createBuckets(2)
  const rate = { burst: 1, perSecond: 1 }
  buckets.take("a", rate, 0)
  buckets.take("b", rate, 0)
  buckets.peek("a", rate, 0)
  buckets.take("c", rate, 0)
  assert.equal(buckets.take("a", rate, 0).allowed, false)
  assert.equal(buckets.take("b", rate, 0).allowed, true)
})
