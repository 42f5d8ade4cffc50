import assert from "node:assert/strict"
import { test } from "node:test"
import { judge } from "@svc/server/src/areas/sql/read-only.ts"
import fc from "fast-check"
import { loadModule, parseSync } from "libpg-query"
import type { Catalog, Category, Column } from "./catalog.ts"
import { dateLiteral, readDates } from "./dates.ts"
import { interpret } from "./interpret.ts"
import { parseReply } from "./prompt.ts"
import { Unreachable } from "./scope.ts"
import { statementOf } from "./statement.ts"
import { formsOf, type StoredValue } from "./values.ts"
import { canonicalOf, singularOf, tokenize } from "./words.ts"

const now = new Date("2024-06-15T12:00:00Z")

const dates: readonly (readonly [string, string, string])[] = [
  ["since march 2024", "2024-03-01", ""],
  ["last month", "2024-05-01", "2024-06-01"],
  ["this year", "2024-01-01", "2025-01-01"],
  ["yesterday", "2024-06-14", "2024-06-15"],
  ["in 2023", "2023-01-01", "2024-01-01"],
  ["past 7 days", "2024-06-08", "2024-06-16"],
  ["last 24 hours", "2024-06-14 12:00:00+00", "2024-06-16"],
  ["between january and march 2023", "2023-01-01", "2023-04-01"],
  ["from 2020 to 2022", "2020-01-01", "2023-01-01"],
  ["after 2020", "2021-01-01", ""],
  ["before july 4 , 2023", "", "2023-07-04"],
  ["until 2023-05-31", "", "2023-06-01"],
  ["q1 2024", "2024-01-01", "2024-04-01"],
  ["more than 5 years ago", "", "2019-06-15"],
  ["last week", "2024-06-03", "2024-06-10"],
  ["in september", "2023-09-01", "2023-10-01"],
  ["on 29 february 2024", "2024-02-29", "2024-03-01"],
]
for (const [text, from, to] of dates) {
  test(`"${text}" is from ${from || "ever"} to ${to || "ever"}`, () => {
    const { range } = readDates(text, now) ?? {}
    const literal = (date: Date | null | undefined) => (date ? dateLiteral(date) : "")
    assert.deepEqual([literal(range?.from), literal(range?.to)], [from, to])
  })
}

test("what is no date is not read as one", () => {
  for (const text of ["2023", "more than 5", "on february 30 2023", "may i", "in berlin", "5 days"]) {
    assert.equal(readDates(text, now), undefined, text)
  }
})

test("numbers in words, scales and currencies become numbers", () => {
  const read = (text: string) =>
    tokenize(text).flatMap(({ kind, text: number }) => (kind === "number" ? [number] : []))
  assert.deepEqual(read("twenty five, 1,000.50, 10k, 2 million, three dozen, at least one"), [
    "25",
    "1000.5",
    "10000",
    "2000000",
    "36",
    "1",
  ])
})

test("forms of a word meet, and different words do not", () => {
  assert.equal(singularOf("categories"), "category")
  assert.equal(singularOf("addresses"), "address")
  assert.equal(canonicalOf("hired"), canonicalOf("hire"))
  assert.equal(canonicalOf("clients"), canonicalOf("customer"))
  assert.equal(canonicalOf("enrolled"), canonicalOf("enrollment"))
  assert.notEqual(canonicalOf("come"), canonicalOf("comment"))
})

test("a reply is read whether plain, fenced or with talk around it", () => {
  for (const text of [
    '{"sql":"SELECT 1;"}',
    '```json\n{"sql":"SELECT 1"}\n```',
    'Sure: {"sql":"SELECT 1"} Done.',
    "```sql\nSELECT 1;\n```",
    "SELECT 1",
  ]) {
    assert.equal(parseReply(text).sql, "SELECT 1")
  }
})

const column = (name: string, category: Category, notNull = true): Column => ({
  name,
  type: category,
  category,
  notNull,
  labels: [],
  comment: null,
})
const table = (index: number, name: string, columns: Column[]) => ({
  index,
  schema: "public",
  name,
  visible: true,
  columns,
  primaryKey: ["id"],
  comment: null,
  bytes: 0,
})
const catalog: Catalog = {
  tables: [
    table(0, "customers", [
      column("id", "number"),
      column("name", "text"),
      column("city", "text", false),
      column("active", "boolean"),
    ]),
    table(1, "orders", [
      column("id", "number"),
      column("customer_id", "number"),
      column("total", "number"),
      column("ordered_at", "date"),
      column("order", "text"),
    ]),
    table(2, "employees", [
      column("id", "number"),
      column("full_name", "text"),
      column("salary", "number"),
      column("manager_id", "number", false),
      column("hired_on", "date"),
    ]),
  ],
  keys: [
    { from: 1, to: 0, columns: ["customer_id"], targets: ["id"] },
    { from: 2, to: 2, columns: ["manager_id"], targets: ["id"] },
  ],
  reserved: new Set(["order", "user", "select"]),
  truncated: false,
}

const vocabulary =
  "how many total average highest lowest most fewest top 5 3 of the per by for each with without no not never and or but more than at least between 10 20 above average " +
  "customers customer orders ordered employees manager managers names name city total salary active inactive hired in 2023 since march last month who which what " +
  "percentage share compare versus sorted descending latest first distinct their is missing named 'x' \"it's\" 'a\\b' Rome , > = revenue spent times month year paid older 40"
const word = fc.constantFrom(...vocabulary.split(" "))
const stored: StoredValue[] = ["Rome", "it's", "a\\b"].flatMap(value => {
  const [customers] = catalog.tables
  const city = customers?.columns[2]
  return customers && city ? [{ table: customers, column: city, value }] : []
})
const values = Map.groupBy(stored, ({ value }) => formsOf(tokenize(`"${value}"`))[0] ?? "")

test("whatever words come together, the result is one SELECT that only reads", async () => {
  await loadModule()
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 20, arbitrary: word }, { weight: 1, arbitrary: fc.string() }), {
        maxLength: 14,
      }),
      words => {
        const { query } = interpret({ tokens: tokenize(words.join(" ")), catalog, values, now })
        if (!query) return
        try {
          const sql = statementOf(query, { catalog, now, ambiguities: [] })
          assert.match(sql, /^SELECT /)
          assert.deepEqual(judge(parseSync(sql)), { allowed: true }, sql)
        } catch (error) {
          if (!(error instanceof Unreachable)) throw error
        }
      },
    ),
    { numRuns: 3000 },
  )
})

test("a long question is read in bounded time", () => {
  const question = "customers with more than 5 orders and ".repeat(60).slice(0, 2000)
  const { query } = interpret({ tokens: tokenize(question), catalog, values, now })
  assert.ok(query)
})
