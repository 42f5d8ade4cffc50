/** A key in use: what tests of keys look at from outside. */
import assert from "node:assert/strict"
import pg from "pg"
import type { TestPlatform } from "../../../testing/platform.ts"

/** Reads a key-value entry with the secret: `ok`, or the code of the refusal. */
export const use = async (p: TestPlatform, secret: string, headers: Record<string, string> = {}) => {
  const response = await p.request("/v1/kv/get", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
    body: '{"key":"a"}',
  })
  const body = (await response.json()) as { code?: string }
  return response.status === 200 ? "ok" : body.code
}

/** Asks again and again until it holds, for this many milliseconds at most. */
export const holdsWithin = async (limitMs: number, check: () => Promise<boolean>) => {
  const deadline = performance.now() + limitMs
  while (!(await check())) assert.ok(performance.now() < deadline, `it does not hold after ${limitMs} ms`)
}

/** Locks a row from outside the server, so that changes of it wait until `release`. */
export const holdRow = async (p: TestPlatform, [schema, table]: readonly [string, string], id: string) => {
  const client = new pg.Client({ connectionString: p.config.databaseUrl })
  const name = `"${schema}"."${table}"`
  await client.connect()
  await client.query("BEGIN")
  await client.query(`SELECT FROM ${name} WHERE id = $1 FOR UPDATE`, [id])
  return {
    release: () => client.query("ROLLBACK"),
    /** How many wait to change a row of the table. */
    async waiting(): Promise<number> {
      // A transaction goes on seeing the activity as it was when it first looked.
      await client.query("SELECT pg_stat_clear_snapshot()")
      const { rows } = await client.query<{ count: string }>(
        `SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND datname = current_database() AND starts_with(query, $1)`,
        [`update ${name}`],
      )
      return Number(rows[0]?.count)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}
