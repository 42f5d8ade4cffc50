/** What the three operations answer, over a real database and its log. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { areas, type Output } from "@svc/contract"
import { Check } from "typebox/value"
import type { Call } from "../../kernel/call.ts"
import { openDatabase } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import { pgVersions } from "../../ports/engine/port.ts"
import { createStatementLog } from "../sql/statement-histories.ts"
import { adviceHandlers } from "./handlers.ts"
import { createQueryLog } from "./testing/query-log.ts"
import { startShop, TARGET } from "./testing/statements.ts"

type Specs = typeof areas.advice.specs

for (const version of pgVersions) {
  test(`anomalies, optimize and scaling answer as declared on PostgreSQL ${version}`, async t => {
    const { cluster, pool, withClient } = await startShop(t, version)
    await createQueryLog(pool)
    await pool.query("CREATE TABLE keyless (id int); SELECT id FROM orders WHERE customer_id = 7")
    for (let n = 0; n < 5; n += 1) await pool.query("SELECT id FROM orders WHERE customer_id = $1", [n])
    const connectionString = `postgresql://owner:${cluster.password}@/app?host=${encodeURIComponent(cluster.socketDir)}`
    await using database = openDatabase({ connectionString, connectionsMax: 1, onError: () => undefined })
    const target = { ...TARGET, volume: { ...TARGET.volume, pgVersion: version } }
    const operations = adviceHandlers({
      targets: { of: async () => target },
      sessions: {
        use: (_, role, work) =>
          withClient(cluster.pool(role, { max: 1 }), client => work({ client, wakeMs: 0 })),
      },
      histories: createStatementLog(database.db).histories,
      insight: {
        withTemporaryBranch: (_, work) => withClient(pool, client => work({ client, wakeMs: 0 })),
        factsOf: async () => ({
          tier: "shared",
          suspendTimeoutSeconds: 300,
          historyRetentionSeconds: 86_400,
          wakes: { count: 1, hoursAwake: 1 },
          physicalBytes: 0,
          historyBytes: 0,
          connectionsMax: 95,
        }),
      },
      naturalLanguageToSql: () => assert.fail("not asked"),
    })
    const call = { db: database.db, now: new Date(), signal: new AbortController().signal } as Call
    const ask = async <Key extends keyof Specs>(key: Key, input: Record<string, unknown> = {}) => {
      const bound = operations.find(({ operation }) => operation.key === key)
      const answer: unknown = JSON.parse(JSON.stringify(await bound?.handler(input, call)))
      assert.ok(Check(areas.advice.specs[key].replies[200], answer), JSON.stringify(answer))
      return answer as Output<Specs[Key]>
    }

    const report = await ask("anomalies")
    assert.deepEqual(
      report.findings.map(({ name }) => name),
      ["no_primary_key"],
    )
    assert.deepEqual(report.summary, { error: 0, warn: 1, info: 0 })
    assert.deepEqual(report.skipped, [])
    const again = await ask("anomalies", { window_hours: 1 })
    assert.equal(again.findings[0]?.cache_key, report.findings[0]?.cache_key)

    const proposed = await ask("optimize")
    assert.equal(proposed.branch.used, true)
    assert.match(JSON.stringify(proposed.suggestions), /customer_id/)
    const unfilled = { sql: "SELECT id FROM orders WHERE customer_id = $1", params: [] }
    await assert.rejects(ask("optimize", unfilled), error => isFault(error, "invalid_sql"))
    assert.deepEqual((await ask("scaling")).suggestions, [])
  })
}
