import { test } from "node:test"
import { runChecks } from "./anomalies.ts"
import { inspect } from "./inspect.ts"
import { startShop } from "./testing/statements.ts"
test("x", async t => {
  const { pool, optimize, withClient } = await startShop(t, 17)
  await pool.query("DO $$ BEGIN FOR n IN 1..1000 LOOP EXECUTE format('CREATE TABLE bulk_%s (id bigint PRIMARY KEY, a int, b int REFERENCES bulk_1, c text)', n) ; EXECUTE format('CREATE INDEX ON bulk_%s (a); CREATE INDEX ON bulk_%s (a, b)', n, n); END LOOP; END $$".replace(" REFERENCES bulk_1", ""))
  for (let i = 0; i < 3; i++) {
    const t0 = performance.now()
    const r = await withClient(pool, c => inspect(c, 17, x => runChecks(x)))
    console.log("1000 tables, anomalies ms", performance.now() - t0, r.findings.length, r.skipped)
  }
  await pool.query("DO $$ BEGIN FOR n IN 1..1000 LOOP EXECUTE format('DROP TABLE bulk_%s', n); IF n % 100 = 0 THEN COMMIT; END IF; END LOOP; END $$")
  await pool.query(`CREATE TABLE parts (id bigint, at date NOT NULL, who int) PARTITION BY RANGE (at);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
    INSERT INTO parts SELECT n, date '2026-01-01' + n % 55, n % 5000 FROM generate_series(1, 50000) n; ANALYZE parts`)
  const t0 = performance.now()
  const p = await optimize({ sql: "SELECT id FROM parts WHERE who = 77" })
  console.log("partitioned", performance.now() - t0, JSON.stringify(p.suggestions))
  const t1 = performance.now()
  const two = await optimize({ sql: "SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.email = 'Person77@example.com' ORDER BY o.placed_at DESC LIMIT 5" })
  console.log("join", performance.now() - t1, JSON.stringify(two.suggestions))
})
