import assert from "node:assert/strict"
import { test } from "node:test"
import { startCluster } from "../../testing/cluster.ts"
import { readQuestions, rowsOf, schemaSql } from "./testing/questions.ts"

test("every expected statement of the question files finds rows, so that an empty answer cannot pass", async t => {
  const cluster = await startCluster(t, 18)
  const owner = cluster.pool("owner", { max: 1 })
  const questions = [...readQuestions("tuning"), ...readQuestions("held-out")]
  assert.ok(questions.length >= 100)
  const empty: string[] = []
  for (const [schema, list] of Map.groupBy(questions, question => question.schema)) {
    await owner.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await owner.query(schemaSql(schema))
    for (const { text, sql } of list) {
      if (sql !== null && (await rowsOf(owner, sql)).length === 0) empty.push(text)
    }
  }
  assert.deepEqual(empty, [])
})
