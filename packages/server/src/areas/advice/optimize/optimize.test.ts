/** What is proposed was shown to help, on every version; nothing stays behind. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { isFault } from "../../../kernel/fault.ts"
import { pgVersions } from "../../../ports/engine/port.ts"
import { PortError } from "../../../ports/port-error.ts"
import { eventually } from "../../../testing/eventually.ts"
import { startShop } from "../testing/statements.ts"
import type { Optimization } from "./optimize.ts"

const indexesIn = ({ suggestions }: Optimization) => suggestions.filter(one => one.type === "index")
const rulesIn = ({ suggestions }: Optimization) =>
  suggestions.flatMap(one => (one.type === "rewrite" ? [one.rule] : []))

/** A statement, its parameters, and what the index that is proposed must be. */
const CASES: ReadonlyArray<readonly [string, readonly unknown[], RegExp]> = [
  ["SELECT id FROM orders WHERE customer_id = $1", [77], /ON public.orders USING btree \(customer_id\)/],
  [
    "SELECT * FROM orders WHERE customer_id = 5 AND placed_at > '2026-01-20'",
    [],
    /orders USING btree \(customer_id/,
  ],
  [
    "SELECT id, total FROM orders ORDER BY placed_at DESC LIMIT 10",
    [],
    /orders USING btree \(placed_at DESC\)/,
  ],
  [
    "SELECT * FROM orders WHERE customer_id = $1 ORDER BY placed_at DESC LIMIT 5",
    [9],
    /\(customer_id(, placed_at DESC)?\)/,
  ],
  [
    "SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 12",
    [],
    /orders USING btree \(customer_id\)/,
  ],
  [
    "SELECT id FROM customers WHERE lower(email) = 'person500@example.com'",
    [],
    /customers USING btree \(\(lower\(email\)\)\)/,
  ],
  [
    "SELECT u.id FROM customers AS u WHERE lower(u.email) = 'person500@example.com'",
    [],
    /customers USING btree \(\(lower\(email\)\)\)/,
  ],
  [
    "SELECT id FROM customers WHERE name LIKE '%c4ca4238a0b923820dcc509a6f75849b%'",
    [],
    /customers USING gin \(name gin_trgm_ops\)/,
  ],
  [
    'SELECT id FROM customers WHERE profile @> \'{"city": "c55", "age": 5}\'',
    [],
    /USING gin \(profile jsonb_path_ops\)/,
  ],
  ["SELECT id FROM customers WHERE (profile->>'city') = 'c55'", [], /USING btree \(\(profile->>'city'\)\)/],
  ["SELECT id FROM customers WHERE tags @> ARRAY['t77']", [], /USING gin \(tags\)/],
  [
    "SELECT id FROM customers WHERE deleted_at IS NOT NULL AND email = 'Person400@example.com'",
    [],
    /btree \(email/,
  ],
  ["SELECT id, total FROM orders WHERE NOT paid AND total > 990", [], /WHERE NOT paid|\(paid/],
  ["SELECT max(total) FROM orders WHERE status = 'open'", [], /WHERE status = 'open'|\(status/],
  ["UPDATE orders SET status = 'done' WHERE customer_id = 17", [], /orders USING btree \(customer_id\)/],
  [
    "SELECT id FROM orders WHERE id = 5 UNION ALL SELECT id FROM orders WHERE customer_id = 6",
    [],
    /\(customer_id\)/,
  ],
]

for (const version of pgVersions) {
  test(`an index is proposed where it helps, and is as good as said, on PostgreSQL ${version}`, async t => {
    const { pool, optimize } = await startShop(t, version)
    for (const [sql, params, expected] of CASES) {
      const found = await optimize({ sql, params })
      const [index] = indexesIn(found)
      assert.ok(index, `${sql}: ${JSON.stringify(found)}`)
      assert.match(index.index_statements.join("; "), expected, sql)
      assert.equal(index.verified_by, "branch")
      assert.ok((index.total_cost_after ?? 0) < (index.total_cost_before ?? 0), sql)
      assert.equal(index.time_after_ms === null, sql.startsWith("UPDATE"), sql)
      assert.ok(sql.startsWith("UPDATE") || (index.time_after_ms ?? 1) < (index.time_before_ms ?? 0), sql)
      assert.ok((index.estimated_size_bytes ?? 0) > 0)
      assert.deepEqual(index.errors, [], sql)
    }
    const { rows } = await pool.query(
      "SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE relnamespace = 'public'::regnamespace",
    )
    assert.deepEqual(rows.map(({ name }) => name).sort(), ["customers_pkey", "orders_pkey"])
    assert.equal(
      (await pool.query("SELECT count(*)::int AS n FROM orders WHERE status = 'open'")).rows[0].n,
      600,
    )
    assert.equal(
      (await pool.query("SELECT count(*)::int AS n FROM pg_extension WHERE extname = 'pg_trgm'")).rows[0].n,
      0,
    )

    const proposal = indexesIn(await optimize({ sql: "SELECT id FROM orders WHERE customer_id = 77" }))[0]
    for (const statement of proposal?.index_statements ?? []) await pool.query(statement)
    assert.deepEqual(indexesIn(await optimize({ sql: "SELECT id FROM orders WHERE customer_id = 78" })), [])
  })

  test(`without a statement those that took most time are looked at, with values of their kind, on PostgreSQL ${version}`, async t => {
    const { pool, optimize } = await startShop(t, version)
    for (let n = 1; n <= 12; n += 1)
      await pool.query("SELECT id, total FROM orders WHERE customer_id = $1", [n])
    await pool.query(
      "SELECT id FROM customers WHERE email IN ('Person1@example.com', 'Person2@example.com') LIMIT 3",
    )
    const found = await optimize({ limit: 10 })
    const index = indexesIn(found).find(({ query }) => query.includes("customer_id"))
    assert.ok(index, JSON.stringify(found))
    assert.match(index.index_statements[0] ?? "", /customer_id/)
    assert.equal(index.calls, 12)
    assert.match(index.query_id ?? "", /^-?\d+$/)
    assert.ok((index.total_exec_time_ms ?? 0) > 0)
    assert.ok(index.time_before_ms !== null && index.time_after_ms !== null)
    assert.ok(
      indexesIn(found).some(({ query }) => query.includes("email")),
      JSON.stringify(found),
    )
    assert.ok(found.examined >= 2)
    for (const { query } of indexesIn(found)) assert.doesNotMatch(query, /pg_stat_statements|pg_catalog/)
  })
}

test("nothing is proposed where nothing helps", async t => {
  const { optimize } = await startShop(t, 17)
  for (const sql of [
    "SELECT total FROM orders WHERE id = 7",
    "SELECT count(*) FROM orders",
    "SELECT sum(total) FROM orders WHERE paid",
    "SELECT 1",
    "SELECT * FROM pg_class WHERE relname = 'x'",
    "INSERT INTO orders (customer_id, status, total, paid, placed_at) VALUES (1, 'open', 1, true, now())",
  ]) {
    assert.deepEqual(indexesIn(await optimize({ sql })), [], sql)
  }
})

test("without a branch a likely index is still named, and said not to be measured", async t => {
  const { optimize } = await startShop(t, 17, {
    withTemporaryBranch: () => Promise.reject(new PortError("unavailable", "the disk at /srv is full")),
  })
  const found = await optimize({ sql: "SELECT id FROM orders WHERE customer_id = 77" })
  const [index] = indexesIn(found)
  assert.equal(index?.verified_by, "explain")
  assert.match(index.index_statements[0] ?? "", /\(customer_id\)/)
  assert.deepEqual([index.total_cost_after, index.time_before_ms, index.time_after_ms], [null, null, null])
  assert.equal(found.branch.used, false)
  assert.doesNotMatch(JSON.stringify(found), /srv/)
  assert.deepEqual(indexesIn(await optimize({ sql: "SELECT sum(total) FROM orders WHERE paid" })), [])
})

test("a statement that is none, or more than one, is refused and nothing of it runs", async t => {
  const { pool, optimize } = await startShop(t, 17, { setup: "CREATE TABLE t (id int)" })
  for (const sql of [
    "SELEC 1",
    "SELECT 1; DROP TABLE t",
    "DROP TABLE t",
    "",
    "SELECT * FROM absent",
    "EXPLAIN SELECT 1",
    "COPY t TO PROGRAM 'true'",
    "SELECT '\\'; COMMIT; DROP TABLE t; --'; SELECT '",
  ]) {
    await assert.rejects(optimize({ sql }), (error: unknown) => isFault(error, "invalid_sql"), sql)
  }
  assert.equal((await pool.query("SELECT count(*)::int AS n FROM t")).rows[0].n, 0)
})

test("a role that reads backslashes in strings cannot have two statements taken for one", async t => {
  const setup = "CREATE TABLE t (id int); ALTER ROLE owner SET standard_conforming_strings = off"
  const { pool, optimize } = await startShop(t, 17, { setup })
  assert.equal(
    (await pool.query("SHOW standard_conforming_strings")).rows[0].standard_conforming_strings,
    "off",
  )
  await optimize({ sql: "SELECT '\\''; COMMIT; DROP TABLE t; --' WHERE $1::int = 1" })
  assert.equal((await pool.query("SELECT count(*)::int AS n FROM t")).rows[0].n, 0)
})

test("what a statement calls can change nothing, neither in the database nor where indexes are tried", async t => {
  const { pool, optimize } = await startShop(t, 17)
  await pool.query(`
    CREATE TABLE marks (at timestamptz);
    CREATE FUNCTION mark(bigint) RETURNS bigint LANGUAGE plpgsql AS
      'BEGIN PERFORM set_config(''transaction_read_only'', ''off'', true); INSERT INTO marks VALUES (now()); RETURN $1; END'`)
  const found = await optimize({ sql: "SELECT mark(id) FROM orders WHERE customer_id = 7" })
  assert.deepEqual(indexesIn(found), [])
  const writing = "WITH gone AS (DELETE FROM orders WHERE customer_id = 8 RETURNING id) SELECT * FROM gone"
  await optimize({ sql: writing })
  await optimize({ sql: "SELECT id FROM orders WHERE customer_id = 8 FOR UPDATE" })
  assert.equal((await pool.query("SELECT count(*)::int AS n FROM marks")).rows[0].n, 0)
  assert.equal((await pool.query("SELECT count(*)::int AS n FROM orders")).rows[0].n, 60000)
})

test("odd names are quoted, and a table outside the search path is found by its schema", async t => {
  const { pool, optimize } = await startShop(t, 17)
  await pool.query(`CREATE SCHEMA "S p"; CREATE TABLE "S p"."T ""x" ("A b" int, "é" text);
    INSERT INTO "S p"."T ""x" SELECT n, n::text FROM generate_series(1, 30000) n; ANALYZE`)
  const [index] = indexesIn(await optimize({ sql: `SELECT "é" FROM "S p"."T ""x" q WHERE q."A b" = 5` }))
  assert.match(index?.index_statements[0] ?? "", /ON "S p"\."T ""x" USING btree \("A b"\)/)
  for (const statement of index?.index_statements ?? []) await pool.query(statement)
})

test("the indexes of a partitioned table are proposed for the whole of it, in a form that can be run", async t => {
  const { pool, optimize } = await startShop(t, 17)
  await pool.query(`CREATE TABLE parts (id bigint, at date NOT NULL, who int) PARTITION BY RANGE (at);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
    INSERT INTO parts SELECT n, date '2026-01-01' + n % 55, n % 5000 FROM generate_series(1, 50000) n; ANALYZE parts`)
  const sql = "SELECT id FROM parts WHERE who = 77"
  const [index] = indexesIn(await optimize({ sql }))
  assert.deepEqual(index?.index_statements, ["CREATE INDEX ON public.parts USING btree (who)"])
  await pool.query(index.index_statements[0] ?? "")
  assert.deepEqual(indexesIn(await optimize({ sql })), [])
})

test("a join gets an index for each table that needs one", async t => {
  const { optimize } = await startShop(t, 17)
  const sql = `SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id
    WHERE c.email = 'Person77@example.com' ORDER BY o.placed_at DESC LIMIT 5`
  const statements = indexesIn(await optimize({ sql }))[0]?.index_statements.join("; ") ?? ""
  assert.match(statements, /orders USING btree \(customer_id\)/)
  assert.match(statements, /customers USING btree \(email\)/)
})

test("rewrites are proposed for what an index cannot mend", async t => {
  const { pool, optimize } = await startShop(t, 17)
  await pool.query("CREATE INDEX ON orders (placed_at); CREATE INDEX ON orders (customer_id)")
  const of = async (sql: string) => rulesIn(await optimize({ sql }))
  assert.deepEqual(
    await of("SELECT id FROM orders WHERE customer_id NOT IN (SELECT id FROM customers) LIMIT 5"),
    ["not_in_subquery"],
  )
  assert.deepEqual(await of("SELECT id FROM orders WHERE placed_at::date = '2026-01-05' LIMIT 5"), [
    "function_on_column",
  ])
  assert.deepEqual(await of("SELECT id FROM orders WHERE abs(customer_id) = 5 LIMIT 5"), [
    "function_on_column",
  ])
  assert.deepEqual(await of("SELECT id FROM orders WHERE customer_id = 5.0 LIMIT 5"), ["implicit_cast"])
  assert.deepEqual(await of("SELECT id FROM orders ORDER BY id LIMIT 5 OFFSET 20000"), ["offset_paging"])
  assert.deepEqual(await of("SELECT id FROM orders"), ["missing_limit"])
  assert.deepEqual(await of("SELECT id FROM orders ORDER BY random() LIMIT 5"), ["order_by_random"])
  assert.deepEqual(
    await of("SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = 5"),
    ["select_star"],
  )
  for (const cartesian of [
    "SELECT o.id FROM orders o, customers c WHERE o.customer_id = 5 LIMIT 5",
    "SELECT o.id FROM orders o JOIN customers c ON o.total > 1 LIMIT 5",
    "SELECT o.id FROM orders o CROSS JOIN customers c LIMIT 5",
  ]) {
    assert.deepEqual(await of(cartesian), ["cartesian_join"], cartesian)
  }
  for (const quiet of [
    "SELECT o.id FROM orders o, customers c WHERE c.id = o.customer_id AND o.id = 5",
    "SELECT total FROM orders, customers WHERE email = 'a' AND customer_id = customers.id LIMIT 5",
    "SELECT o.id FROM orders o CROSS JOIN (VALUES (1), (2)) AS v LIMIT 5",
    "SELECT o.id FROM orders o, customers c WHERE o.id = 5 AND c.id = 7",
    "SELECT id FROM orders WHERE customer_id NOT IN (1, 2) LIMIT 5",
    "SELECT id FROM orders WHERE placed_at >= '2026-01-05' AND placed_at < '2026-01-06'",
    "SELECT id FROM orders WHERE customer_id = 5 ORDER BY id LIMIT 5 OFFSET 20",
    "SELECT count(*) FROM orders",
    "SELECT * FROM orders WHERE id = 5",
  ]) {
    assert.deepEqual(await of(quiet), [], quiet)
  }
})

test("an autovacuum of the table keeps no index from being proposed", async t => {
  const { cluster, pool, optimize } = await startShop(t, 18)
  const admin = cluster.pool("svc_admin", { max: 1 })
  await admin.query("ALTER SYSTEM SET autovacuum_naptime = 1")
  await admin.query("SELECT pg_reload_conf()")
  await pool.query(`ALTER TABLE customers SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1,
    autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`)
  await pool.query("UPDATE customers SET deleted_at = NULL WHERE id < 100")
  await eventually("the table is being vacuumed", async () => {
    const { rows } = await admin.query(
      "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND query LIKE '%customers%'",
    )
    return rows.length > 0
  })
  const sql = "SELECT id FROM customers WHERE name LIKE '%c4ca4238a0b923820dcc509a6f75849b%'"
  const found = await optimize({ sql, params: [] })
  assert.equal(indexesIn(found).length, 1, JSON.stringify(found))
})
