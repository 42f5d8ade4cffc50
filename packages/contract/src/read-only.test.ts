import assert from "node:assert/strict"
import { test } from "node:test"
import { allOperations } from "./index.ts"
import { readsByPost, refusesReadOnly } from "./read-only.ts"

test("every operation that reads by another method than GET and HEAD is in the table of a read-only key", () => {
  const reading = allOperations.filter(
    ({ scope, effect, method }) =>
      scope !== "public" &&
      scope !== "session" &&
      (effect === "read" || effect === "read-or-write") &&
      method !== "GET" &&
      method !== "HEAD",
  )
  assert.deepEqual(reading.map(({ name }) => name).sort(), Object.keys(readsByPost).sort())
})

test("an operation that changes state refuses a read-only key by any method, and one that is not in the table too", () => {
  for (const operation of allOperations) {
    const { method, effect, scope, name } = operation
    const reads = method === "GET" || method === "HEAD" ? effect === "read" : name in readsByPost
    if (scope !== "public") assert.equal(refusesReadOnly(operation), !reads, name)
  }
})
