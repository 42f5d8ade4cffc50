import assert from "node:assert/strict"
import { before, test } from "node:test"
import { loadModule, parseSync } from "libpg-query"
import { riskOf } from "./risk.ts"

before(loadModule)

const HIGH = [
  "DROP TABLE orders",
  "drop /* all */ schema public cascade",
  "TRUNCATE orders",
  "ALTER TABLE orders DROP COLUMN paid",
  "ALTER TABLE orders ADD COLUMN a int, DROP CONSTRAINT positive",
  "ALTER TABLE orders DISABLE ROW LEVEL SECURITY",
  "ALTER TABLE orders DETACH PARTITION orders_2025",
  "ALTER DOMAIN price DROP CONSTRAINT positive",
  "DELETE FROM orders",
  "DELETE FROM orders WHERE true",
  "DELETE FROM orders WHERE 1 = 1 AND 'a' < 'b'",
  "UPDATE orders SET paid = true",
  "UPDATE orders SET paid = true WHERE not false",
  "WITH gone AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM gone",
  "EXPLAIN ANALYZE DELETE FROM orders",
  "PREPARE gone AS DELETE FROM orders",
  "COPY (UPDATE orders SET paid = true RETURNING id) TO STDOUT",
  "CREATE RULE r AS ON INSERT TO a DO ALSO DELETE FROM orders",
  "MERGE INTO orders o USING gone g ON o.id = g.id WHEN MATCHED THEN DELETE",
  "GRANT SELECT ON orders TO app",
  "REVOKE SELECT ON orders FROM app",
  "GRANT admin TO app",
  "CREATE ROLE app LOGIN",
  "ALTER ROLE owner PASSWORD 'x'",
  "ALTER USER owner SET local_preload_libraries = 'x'",
  "DROP ROLE app",
  "DROP OWNED BY app",
  "REASSIGN OWNED BY app TO owner",
  "ALTER TABLE orders OWNER TO app",
  "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO app",
  "ALTER POLICY p ON orders USING (true)",
  "CREATE POLICY p ON orders USING (true)",
  "DO $$ BEGIN EXECUTE 'DROP TABLE orders'; END $$",
  "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'DROP TABLE orders'",
  "SELECT query_to_xml('DELETE FROM orders', true, false, '')",
  "SELECT dblink_exec('DROP TABLE orders')",
  "SELECT 1; DROP TABLE orders",
]

const LOW = [
  "SELECT * FROM orders",
  "INSERT INTO orders VALUES (1)",
  "INSERT INTO orders VALUES (1) ON CONFLICT (id) DO UPDATE SET paid = true",
  "UPDATE orders SET paid = true WHERE id = $1",
  "DELETE FROM orders WHERE created_at < now() - interval '1 year'",
  "DELETE FROM orders USING gone WHERE orders.id = gone.id",
  "CREATE TABLE a (id int)",
  "CREATE INDEX ON orders (paid)",
  "ALTER TABLE orders ADD COLUMN note text",
  "ALTER TABLE orders RENAME COLUMN a TO b",
  "SELECT nextval('s'), set_config('a.b', 'c', true)",
  "BEGIN",
]

test("a statement that drops, empties or changes who may do what is high-risk, wherever it stands", () => {
  for (const sql of HIGH) assert.notEqual(riskOf(parseSync(sql)), undefined, sql)
})

test("a statement that adds, reads, or changes chosen rows is not", () => {
  for (const sql of LOW) assert.equal(riskOf(parseSync(sql)), undefined, sql)
})
