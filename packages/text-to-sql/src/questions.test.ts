import assert from "node:assert/strict"
import { test } from "node:test"
import { startCluster } from "@svc/server/src/testing/cluster.ts"
import {
  type Question,
  questionsOf,
  readQuestions,
  rowsOf,
  scoreQuestions,
  setupOf,
  summaryOf,
} from "./testing/questions.ts"
import { openReadOnlyCheck } from "./testing/read-only.ts"
import { createTranslator } from "./translator.ts"

test("every expected statement of the question files finds rows, so that an empty answer cannot pass", async t => {
  const cluster = await startCluster(t, 18)
  const owner = cluster.pool("owner", { max: 1 })
  const questions = [...readQuestions("tuning"), ...readQuestions("held-out")]
  assert.ok(questions.length >= 100)
  const empty: string[] = []
  for (const [schema, list] of Map.groupBy(questions, question => question.schema)) {
    await owner.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await owner.query(setupOf(schema))
    for (const { text, sql } of list) {
      if (sql !== null && (await rowsOf(owner, sql)).length === 0) empty.push(text)
    }
  }
  assert.deepEqual(empty, [])
})

const PRECISION_MIN = 0.95

/** The least recall of each set only shows when a change makes the rules refuse more. */
const plan: readonly (readonly [string, 16 | 17 | 18, readonly Question[], number])[] = [
  ["tuning", 18, readQuestions("tuning"), 0.55],
  ["held-out", 17, readQuestions("held-out"), 0.5],
  ["older", 16, questionsOf(["shop", "hr", "library", "sensors", "school"]), 0.85],
]

for (const [name, version, questions, recallMin] of plan) {
  test(`of the answers to the ${name} questions at least ${PRECISION_MIN * 100} % are right, on PostgreSQL ${version}`, async t => {
    const cluster = await startCluster(t, version)
    await using readOnly = openReadOnlyCheck()
    const translator = createTranslator({ checkReadOnly: readOnly.check, limitMs: 60_000 })
    const scored = await scoreQuestions(
      cluster.pool("owner"),
      cluster.pool("svc_reader"),
      questions,
      (client, question, now) =>
        translator.translate({
          question,
          now,
          signal: AbortSignal.timeout(60_000),
          withSession: work => work(client),
        }),
    )
    const summary = summaryOf(scored)
    t.diagnostic(JSON.stringify(summary))
    const wrong = scored.flatMap(({ question, outcome, detail }) =>
      outcome === "wrong" ? [`${question.text}\n  ${detail}`] : [],
    )
    assert.ok(summary.precision >= PRECISION_MIN, wrong.join("\n"))
    assert.ok(summary.recall >= recallMin, `recall ${summary.recall}`)
    for (const [confidence, list] of Map.groupBy(scored, each => each.confidence)) {
      if (confidence === 0) continue
      const { precision } = summaryOf(list)
      assert.ok(precision >= confidence - 0.05, `${confidence} stands for ${precision}`)
    }
  })
}
