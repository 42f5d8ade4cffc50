import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { createBatcher } from "./batcher.ts"

test("what comes at once goes together, the rest shares the next, and each call gets its own outcome", async () => {
  const performed: number[][] = []
  const gate = Promise.withResolvers<void>()
  const call = createBatcher<number, number>({
    ...{ itemsMax: 3, atOnceMax: 1 },
    async perform(items) {
      performed.push([...items])
      await gate.promise
      if (items.includes(7)) throw new Error("all of them")
      return Promise.allSettled(
        items.map(async item => (item === 2 ? Promise.reject(new Error("two")) : item * 10)),
      )
    },
  })
  const first = [1, 2].map(call)
  await nextTurn()
  const second = [3, 4, 5, 6, 7].map(call)
  gate.resolve()
  const outcomes = await Promise.allSettled([...first, ...second])
  assert.deepEqual(performed, [
    [1, 2],
    [3, 4, 5],
    [6, 7],
  ])
  assert.deepEqual(
    outcomes.map(outcome => (outcome.status === "fulfilled" ? outcome.value : outcome.reason.message)),
    [10, "two", 30, 40, 50, "all of them", "all of them"],
  )
})

test("a lull is no end, and no more are under way than may be", async () => {
  let running = 0
  let most = 0
  const call = createBatcher<number, number>({
    ...{ itemsMax: 2, atOnceMax: 2 },
    async perform(items) {
      running++
      most = Math.max(most, running)
      await nextTurn()
      running--
      return items.map(value => ({ status: "fulfilled", value }))
    },
  })
  for (let round = 0; round < 3; round++) {
    const numbers = Array.from({ length: 9 }, (_, at) => at)
    assert.deepEqual(await Promise.all(numbers.map(call)), numbers)
  }
  assert.equal(most, 2)
})
