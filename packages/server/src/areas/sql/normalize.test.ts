import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { formatArray, parseArray } from "./array-text.ts"
import { tokensOf } from "./lexer.ts"
import { commandOf, controlsTransaction, createNormalize } from "./normalize.ts"

const normalize = createNormalize()

test("nothing that a constant or a comment says is kept", () => {
  const cases: [string, string][] = [
    ["SELECT * FROM t WHERE a = 'secret' AND b=12.5e3", "SELECT * FROM t WHERE a = ? AND b = ?"],
    ["select 1 -- secret", "select ?"],
    ["select /* secret /* nested */ secret */ 2", "select ?"],
    ["SELECT E'it\\'s secret', 'it''s secret', U&'secret', x'5ec'", "SELECT ?, ?, ?, ?"],
    ["SELECT $$secret$$, $tag$ secret $$ $tag$, $1", "SELECT ?, ?, $1"],
    ["ALTER ROLE x PASSWORD 'secret'", "ALTER ROLE x PASSWORD ?"],
    ["ALTER TABLE t ALTER c SET DEFAULT 'secret'", "ALTER TABLE t ALTER c SET DEFAULT ?"],
    ['SELECT "col \'umn", t1.c2, a."b" FROM t1', 'SELECT "col \'umn", t1.c2, a."b" FROM t1'],
    ["SELECT 'never closed secret", "SELECT ?"],
    ["SELECT $q$ never closed secret", "SELECT ?"],
    ["/* never closed secret", ""],
    ["SELECT a::int, b->>'secret', c @> '{}'", "SELECT a :: int, b ->> ?, c @> ?"],
  ]
  for (const [sql, expected] of cases) assert.equal(normalize(sql).sql, expected)
})

test("statements that differ in constants, lengths of lists and case have one query id", () => {
  const same = [
    "SELECT * FROM t WHERE id IN (1, 2, 3) AND name = 'a'",
    "select *\n from T where ID in (4) and NAME = $$b$$ -- c",
    "SELECT * FROM t WHERE id IN (1,2) AND name='x';",
  ]
  assert.equal(new Set(same.map(sql => normalize(sql).queryId)).size, 1)
  const rows = ["INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"]
  assert.equal(new Set(rows.map(sql => normalize(sql).queryId)).size, 1)
  assert.notEqual(normalize("SELECT a FROM t").queryId, normalize("SELECT b FROM t").queryId)
  assert.notEqual(normalize('SELECT "A"').queryId, normalize('SELECT "a"').queryId)
})

test("a quoted text of any content is one constant and leaks no character", () => {
  const marker = "zqzq"
  const text = fc.string({
    unit: fc.constantFrom("'", "\\", '"', "$", "-", "*", "/", " ", "\n", "a", "e", "é", ";"),
  })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const inner = `${before}${marker}${after}`
      const quoted = `'${inner.replaceAll("'", "''")}'`
      const escaped = `E'${inner.replaceAll(/['\\]/g, "\\$&")}'`
      for (const constant of [quoted, escaped, `U&${quoted}`]) {
        const { sql } = normalize(`SELECT ${constant} AS x`)
        assert.equal(sql, "SELECT ? AS x")
      }
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), anything => {
      for (const _ of tokensOf(anything));
    }),
  )
})

test("arrays are read as they were written", () => {
  const value: fc.Arbitrary<string | null> = fc.option(fc.string({ unit: "grapheme" }), { nil: null })
  fc.assert(
    fc.property(fc.array(value), values => {
      assert.deepEqual(parseArray(formatArray(values, String)), values)
    }),
  )
  fc.assert(
    fc.property(fc.array(fc.array(value, { minLength: 1 }), { minLength: 1 }), values => {
      assert.deepEqual(parseArray(formatArray(values, String)), values)
    }),
  )
  for (const text of ["", "{", "{1", "{1,}", "1}", "{1}}", "{,1}", '{"a}'])
    assert.throws(() => parseArray(text))
})

test("a statement's command and its hold on transactions are told from its words", () => {
  assert.equal(commandOf("/* INSERT */ ( SELECT 1)"), "SELECT")
  assert.equal(
    commandOf("WITH a AS (SELECT 1), b AS (DELETE FROM t RETURNING 1) INSERT INTO t SELECT 1"),
    "INSERT",
  )
  assert.equal(commandOf("WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a"), "SELECT")
  assert.equal(commandOf("VALUES (1)"), "SELECT")
  assert.equal(commandOf(""), null)
  for (const sql of [
    "BEGIN",
    "; commit",
    "/* x */ End",
    "START TRANSACTION",
    "ROLLBACK",
    "ROLLBACK AND CHAIN",
    "PREPARE TRANSACTION 'x'",
    "ABORT",
  ])
    assert.equal(controlsTransaction(sql), true, sql)
  for (const sql of [
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "ROLLBACK WORK TO SAVEPOINT a",
    "PREPARE x AS SELECT 1",
    "SELECT 'commit'",
    '"commit"',
  ])
    assert.equal(controlsTransaction(sql), false, sql)
})
