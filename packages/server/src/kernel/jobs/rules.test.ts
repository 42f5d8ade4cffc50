import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { completeQueue, errorText, isSpent, JITTER, settlementOf, settlementOfFailure } from "./rules.ts"

const queueOf = (retries?: number[]) =>
  completeQueue({ name: "test.work", run: async () => undefined, ...(retries && { retries }) })
const jobOf = (attempt: number) => ({ attempt, dueAt: new Date(0) })

test("each delay lies within a fifth of its place in the schedule, and after the last there is none", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1e8 }), { maxLength: 10 }),
      fc.nat(1e12),
      (retries, nowMs) => {
        const queue = queueOf(retries)
        for (const [place, delayMs] of retries.entries()) {
          const { kind, at } = settlementOfFailure(queue, jobOf(place + 1), "error", nowMs)
          assert.equal(kind, "retry")
          const waitMs = Number(at) - nowMs
          assert.ok(
            waitMs >= Math.floor(delayMs * (1 - JITTER)) && waitMs <= Math.ceil(delayMs * (1 + JITTER)),
          )
          assert.ok(!isSpent(queue, place + 2))
        }
        assert.equal(settlementOfFailure(queue, jobOf(retries.length + 1), "error", nowMs).kind, "dead")
        assert.ok(isSpent(queue, retries.length + 2))
      },
    ),
  )
})

test("delays are spread, so that what failed together does not come back together", () => {
  const queue = queueOf([1e9])
  const times = Array.from({ length: 20 }, () => Number(settlementOfFailure(queue, jobOf(1), "", 0).at))
  assert.ok(new Set(times).size > 10)
})

test("a time that a handler asks for is never before now, nor one that the database cannot keep", () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: false }), fc.nat(1e13), (at, nowMs) => {
      for (const outcome of [{ kind: "retry", at, reason: "" } as const, { kind: "again", at } as const]) {
        const settled = settlementOf(queueOf(), jobOf(1), outcome, nowMs)
        assert.equal(settled.kind, outcome.kind)
        assert.ok(Number(settled.at) >= nowMs && Number(settled.at) <= nowMs + 10 * 365 * 86_400_000)
      }
    }),
  )
})

test("a retry after the last attempt is none", () => {
  const settled = settlementOf(queueOf([]), jobOf(1), { kind: "retry", at: new Date(1), reason: "429" }, 0)
  assert.deepEqual(settled, { kind: "dead", error: "429" })
})

test("whatever is thrown leaves a bounded text that the database takes", () => {
  const check = (error: unknown) => {
    const text = errorText(error)
    assert.ok(text.length <= 2_000 && !text.includes("\u0000"))
  }
  for (const error of [new Error("\u0000".repeat(5_000)), "x".repeat(5_000), Object.create(null)])
    check(error)
  fc.assert(fc.property(fc.anything({ maxDepth: 1 }), check))
})

test("a queue whose settings make no sense is refused", () => {
  const run = async () => undefined
  for (const queue of [
    { name: "", run },
    { name: "Test", run },
    { name: "a:b", run },
    { name: "a,b", run },
    { name: "test.work", run, concurrency: 0 },
    { name: "test.work", run, concurrency: 1.5 },
    { name: "test.work", run, leaseSeconds: 1 },
    { name: "test.work", run, perTenantConcurrency: 0 },
    { name: "test.work", run, timeoutMs: 0 },
    { name: "test.work", batchMax: 0, runBatch: run },
  ]) {
    assert.throws(() => completeQueue(queue), RangeError)
  }
})
