import assert from "node:assert/strict"
import { test } from "node:test"
import { createGuard } from "../../sql/guard.ts"
import { startCluster } from "../../testing/cluster.ts"
import { accuracy, evaluate } from "./testing/evaluate.ts"
import type { EvaluationSet } from "./testing/evaluation.ts"
import { hr } from "./testing/hr.ts"
import { library } from "./testing/library.ts"
import { school } from "./testing/school.ts"
import { sensors } from "./testing/sensors.ts"
import { shop } from "./testing/shop.ts"
import { createTranslator } from "./translator.ts"

/** Share of right answers that no change may fall below. Every version of PostgreSQL has sets of its own. */
const plan: readonly (readonly [16 | 17 | 18, readonly (readonly [EvaluationSet, number])[]])[] = [
  [16, [[shop, 0.97]]],
  [
    17,
    [
      [hr, 0.97],
      [library, 0.9],
    ],
  ],
  [
    18,
    [
      [sensors, 0.97],
      [school, 0.97],
    ],
  ],
]

for (const [version, sets] of plan) {
  test(`on PostgreSQL ${version} the rules answer as the written statements do: ${sets.map(([{ name }]) => name).join(", ")}`, async t => {
    const cluster = await startCluster(t, version)
    await using guard = createGuard()
    const translator = createTranslator({ guard })
    const owner = cluster.pool("owner")
    for (const [set, share] of sets) {
      await owner.query(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC",
      )
      await owner.query(set.setup)
      const verdicts = await evaluate(cluster.pool("svc_reader"), set, (client, question, now) =>
        translator.translate({
          question,
          now,
          volumeId: set.name,
          signal: AbortSignal.timeout(60_000),
          withSession: work => work(client),
        }),
      )
      const right = verdicts.filter(verdict => verdict.right).length
      const kinds = [...accuracy(verdicts)].map(([kind, { right: ok, of }]) => `${kind} ${ok}/${of}`)
      t.diagnostic(`${set.name}: ${right} of ${verdicts.length}; ${kinds.join(", ")}`)
      const wrong = verdicts.filter(verdict => !verdict.right)
      const told = wrong.map(({ pair, reason, sql }) => `${pair.question}\n  ${reason}: ${sql}`)
      assert.ok(
        right / verdicts.length >= share,
        `${set.name}: ${right} of ${verdicts.length}\n${told.join("\n")}`,
      )
    }
  })
}
