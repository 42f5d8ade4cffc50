/** What the pages compute, without a browser. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { csvOf, dangersOf, quoteName, statementAt, statementsOf } from "./screens/sql/statements.ts"
import {
  parseFilters,
  readable,
  selectOf,
  statementOf,
  type Table,
  writeFilters,
} from "./screens/tables/sql.ts"

const parts = (text: string) => statementsOf(text).map(({ sql }) => sql)

test("statements end at semicolons of code, and not of texts, names, comments or bodies", () => {
  assert.deepEqual(parts("SELECT 1; SELECT 2"), ["SELECT 1;", "SELECT 2"])
  assert.deepEqual(parts("SELECT ';', \"a;b\", 'it''s;' -- ;\n, 2 /* ; /* ; */ ; */"), [
    "SELECT ';', \"a;b\", 'it''s;' -- ;\n, 2 /* ; /* ; */ ; */",
  ])
  assert.deepEqual(parts("DO $x$ BEGIN; END $x$; SELECT $$;$$"), ["DO $x$ BEGIN; END $x$;", "SELECT $$;$$"])
  assert.deepEqual(parts("SELECT E'a\\';b'; SELECT 'a\\'; SELECT 3"), [
    "SELECT E'a\\';b';",
    "SELECT 'a\\';",
    "SELECT 3",
  ])
  assert.equal(
    parts(
      "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3",
    ).length,
    2,
  )
  assert.deepEqual(parts(" ; -- nothing\n ;"), [])
  assert.deepEqual(parts("SELECT 'open; SELECT 2"), ["SELECT 'open; SELECT 2"])
})

test("a statement knows where it stands, and the cursor chooses one", () => {
  const text = "SELECT 1;\n\n  SELECT 2;\nSELECT 3"
  for (const { sql, from, to } of statementsOf(text)) assert.equal(text.slice(from, to), sql)
  assert.equal(statementAt(text, 3)?.sql, "SELECT 1;")
  assert.equal(statementAt(text, text.indexOf("2"))?.sql, "SELECT 2;")
  assert.equal(statementAt(text, text.length)?.sql, "SELECT 3")
  assert.equal(statementAt("", 0), undefined)
})

test("what destroys is named, also where it hides, and what only sounds so is not", () => {
  const of = (sql: string) => dangersOf(sql).join(" ")
  assert.match(of("DROP TABLE IF EXISTS public.orders CASCADE"), /Drops the table public\.orders/)
  assert.match(of('truncate table "My Table"'), /every row of "My Table"/)
  assert.match(of("DELETE FROM orders"), /Deletes every row of orders/)
  assert.match(of("delete /* where */ from orders -- where id = 1"), /Deletes every row/)
  assert.match(of("DELETE FROM orders USING (SELECT 1 WHERE true) x"), /Deletes every row/)
  assert.match(
    of("WITH gone AS (DELETE FROM orders RETURNING 1) SELECT * FROM gone WHERE true"),
    /Deletes every row/,
  )
  assert.match(of("UPDATE orders SET note = 'where'"), /Changes every row of orders/)
  assert.match(of("ALTER TABLE orders DROP COLUMN note"), /Drops a column of orders/)
  assert.match(of("EXPLAIN ANALYZE DELETE FROM orders"), /Deletes every row/)
  for (const harmless of [
    "SELECT 'DROP TABLE orders'",
    "DELETE FROM orders WHERE id = 1",
    "UPDATE orders SET note = 1 WHERE id IN (SELECT 1)",
    "INSERT INTO t VALUES ('truncate')",
    "EXPLAIN DELETE FROM orders",
    "SELECT * FROM orders FOR UPDATE",
    "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 2",
    "GRANT DELETE ON orders TO somebody",
  ])
    assert.equal(of(harmless), "", harmless)
})

test("names are quoted where SQL needs it, and a file of rows runs no formula", () => {
  assert.deepEqual(["orders", "Orders", 'a"b', "order"].map(quoteName), [
    "orders",
    '"Orders"',
    '"a""b"',
    '"order"',
  ])
  assert.equal(
    csvOf(
      ["a", "b"],
      [
        ["=cmd()", -1],
        ["-1", null],
        ['say "hi", you', { x: 1 }],
      ],
    ),
    'a,b\r\n\'=cmd(),-1\r\n-1,\r\n"say ""hi"", you","{""x"":1}"',
  )
})

const column = (name: string, full_type: string) => ({
  name,
  full_type,
  is_nullable: true,
  is_updatable: true,
})
const table: Table = {
  schema: "public",
  name: 'or"ders',
  type: "table",
  columns: [column("id", "bigint"), column("note", "character varying(20)"), column("sum", "numeric(10,2)")],
  primary_keys: [{ name: "id" }],
  live_rows_estimate: 0,
  relationships: [],
}

test("rows are read with values as parameters, names quoted, and pages that do not overlap", () => {
  const { sql, params } = selectOf(table, {
    filters: [
      { column: "note", operator: "contains", value: "50%_'" },
      { column: "id", operator: ">", value: "9007199254740993" },
      { column: "sum", operator: "not null", value: "" },
    ],
    sort: { column: "note", isDown: true },
    limit: 10,
    offset: 20,
  })
  assert.equal(
    sql,
    'SELECT id, note, sum FROM public."or""ders" WHERE note::text ILIKE $1 AND id > CAST($2::text AS bigint) ' +
      "AND sum IS NOT NULL ORDER BY note DESC, id LIMIT 10 OFFSET 20",
  )
  assert.deepEqual(params, ["%50\\%\\_'%", "9007199254740993"])
})

test("a staged edit becomes one statement, whose readable form has the values in their places", () => {
  const key = { id: "7" }
  const update = statementOf(table, { kind: "update", key, values: { note: "it's", sum: null } })
  assert.match(
    update.sql,
    /^UPDATE public\."or""ders" SET note = CAST\(\$1::text AS character varying\(20\)\), /,
  )
  assert.deepEqual(update.params, ["it's", null, "7"])
  assert.equal(readable(update), `UPDATE public."or""ders" SET note = 'it''s', sum = NULL WHERE id = '7'`)
  assert.equal(
    readable(statementOf(table, { kind: "insert", values: { note: "); DROP TABLE x; --" } })),
    `INSERT INTO public."or""ders" (note) VALUES ('); DROP TABLE x; --')`,
  )
  assert.equal(
    readable(statementOf(table, { kind: "delete", key })),
    `DELETE FROM public."or""ders" WHERE id = '7'`,
  )
})

test("filters survive an address, and an address that somebody else wrote names only columns that there are", () => {
  const filters = [{ column: "note", operator: "=", value: "a,b" }] as const
  assert.deepEqual(parseFilters(writeFilters(filters), table), filters)
  const hostile = [["note) OR (1", "=", "1"], ["note", "; DROP", "1"], "x", 5]
  assert.deepEqual(parseFilters(JSON.stringify(hostile), table), [])
  assert.deepEqual(parseFilters("{", table), [])
})
