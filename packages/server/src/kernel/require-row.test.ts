import assert from "node:assert/strict"
import { test } from "node:test"
import { requireRow } from "./require-row.ts"

test("a row that is there is given, and one that is not is the fault, with what was looked for", async () => {
  assert.deepEqual(await requireRow(Promise.resolve({ id: "a" }), "topic_not_found", { id: "a" }), {
    id: "a",
  })
  await assert.rejects(requireRow(Promise.resolve(undefined), "topic_not_found", { id: "b" }), {
    code: "topic_not_found",
    message: /b/,
  })
})
