/**
 * Scores the answers to the question files:
 * `npm run score-questions -- tuning|held-out|older [--details]`
 */
import { startCluster } from "@svc/server/src/testing/cluster.ts"
import { createTranslator } from "../translator.ts"
import { type Half, questionsOf, readQuestions, scoreQuestions, summaryOf } from "./questions.ts"
import { openReadOnlyCheck } from "./read-only.ts"

const [half = "tuning", details] = process.argv.slice(2)
const questions =
  half === "older" ? questionsOf(["shop", "hr", "library", "sensors", "school"]) : readQuestions(half as Half)
const cleanups: (() => unknown)[] = []
const cluster = await startCluster({ after: (cleanup: () => unknown) => cleanups.push(cleanup) }, 18)
try {
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
  if (details) {
    for (const { question, outcome, confidence, milliseconds, detail } of scored) {
      const expected = question.sql === null ? " (to be refused)" : ""
      process.stdout.write(
        `${outcome}${expected} ${confidence} ${Math.round(milliseconds)} ms: ${question.text}\n`,
      )
      if (outcome !== "right") process.stdout.write(`    ${detail.replaceAll("\n", " ")}\n`)
    }
  }
  process.stdout.write(`${JSON.stringify(summaryOf(scored), null, 2)}\n`)
  for (const [confidence, list] of [...Map.groupBy(scored, each => each.confidence)].sort()) {
    if (confidence > 0)
      process.stdout.write(`confidence ${confidence}: ${summaryOf(list).right} of ${list.length} right\n`)
  }
} finally {
  for (const cleanup of cleanups) await cleanup()
}
