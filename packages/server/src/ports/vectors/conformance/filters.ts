/** Promises about filters: every driver gives a condition the same meaning. */
import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import type { Condition, Scalar } from "../filter.ts"
import { asking, filled, idsOf, type OpenIndex, record } from "./fixture.ts"
import { naive } from "./naive.ts"

const LONG = "a chapter that is longer than any key of a dictionary should ever be, by far, and goes on"

const documents: Readonly<Record<string, object>> = {
  apple: {
    color: "red",
    price: 3,
    tags: ["fruit", "sweet"],
    sold: { at: "2026-03-01T10:00:00Z", by: "ann" },
  },
  lemon: {
    color: "yellow",
    price: 2.5,
    tags: ["fruit"],
    sold: { at: "2026-03-01T12:00:00+02:00" },
    fresh: true,
  },
  rope: { color: null, price: "3", tags: [], parts: [{ name: "end", size: 1 }, { name: "middle" }] },
  bare: {},
  book: { text: LONG, price: 30, fresh: false, tags: [["nested"], 7, null], sold: { at: "2027-01-01" } },
}

const inside = (path: string, ...values: Scalar[]): Condition => ({ kind: "in", path, values })
const outside = (path: string, ...values: Scalar[]): Condition => ({ kind: "notIn", path, values })
const count = (path: string, min: number, max: number): Condition => ({ kind: "count", path, min, max })
const from = (value: number) => ({ value, inclusive: true })
const past = (value: number) => ({ value, inclusive: false })
const numbers = (
  lower: ReturnType<typeof from> | undefined,
  upper?: ReturnType<typeof from>,
  path = "price",
): Condition => ({ kind: "numbers", path, lower, upper })

const MANY = Number.POSITIVE_INFINITY
const TEN_O_CLOCK = Date.UTC(2026, 2, 1, 10)

const table: readonly (readonly [what: string, condition: Condition, ids: string])[] = [
  ["a text", inside("color", "red"), "apple"],
  ["one of several", inside("color", "red", "yellow", "blue"), "apple lemon"],
  ["a number is not its text", inside("price", 3), "apple"],
  ["a text is not its number", inside("price", "3"), "rope"],
  ["a truth value", inside("fresh", false), "book"],
  ["an element of an array", inside("tags", "sweet"), "apple"],
  ["an element of an array in an array", inside("tags", "nested"), "book"],
  ["a field of objects in an array", inside("parts.name", "middle"), "rope"],
  ["a long text, all of it", inside("text", LONG), "book"],
  ["a long text, but for its end", inside("text", LONG.slice(0, -1)), ""],
  ["a path that nothing has", inside("no.such.path", 1), ""],
  ["none of these, where there is a value", outside("color", "red"), "lemon"],
  ["another element than these", outside("tags", "fruit"), "apple book"],
  ["other numbers and texts", outside("price", 3, 30), "lemon rope"],
  ["another truth value", outside("fresh", true), "book"],
  ["any value at all", outside("color"), "apple lemon"],
  ["from", numbers(from(3)), "apple book"],
  ["more than", numbers(past(3)), "book"],
  ["up to", numbers(undefined, from(3)), "apple lemon"],
  ["between", numbers(past(2.5), past(30)), "apple"],
  ["a number in an array", numbers(from(7), from(7), "tags"), "book"],
  [
    "a time, whatever its zone",
    { kind: "times", path: "sold.at", lower: from(TEN_O_CLOCK), upper: from(TEN_O_CLOCK) },
    "apple lemon",
  ],
  [
    "a day later than",
    { kind: "times", path: "sold.at", lower: past(TEN_O_CLOCK), upper: undefined },
    "book",
  ],
  ["null", { kind: "null", path: "color" }, "rope"],
  ["null in an array", { kind: "null", path: "tags" }, "book"],
  ["empty: missing, null or without elements", count("tags", 0, 0), "bare rope"],
  ["empty is what null is", count("color", 0, 0), "bare book rope"],
  ["so many values", count("tags", 2, MANY), "apple book"],
  ["one value or none", count("tags", 0, 1), "bare lemon rope"],
  ["an object counts one", count("sold", 1, 1), "apple book lemon"],
  ["ids", { kind: "id", ids: ["rope", "nobody"] }, "rope"],
  ["all of", { kind: "all", of: [inside("tags", "fruit"), numbers(past(2.5))] }, "apple"],
  ["any of", { kind: "any", of: [inside("tags", "fruit"), numbers(past(20))] }, "apple book lemon"],
  ["none of", { kind: "none", of: [inside("tags", "fruit"), numbers(past(20))] }, "bare rope"],
  ["all of nothing", { kind: "all", of: [] }, "apple bare book lemon rope"],
  [
    "at least two of three",
    { kind: "atLeast", least: 2, of: [inside("tags", "fruit"), inside("color", "red"), inside("price", 3)] },
    "apple",
  ],
  ["one in another", { kind: "none", of: [{ kind: "none", of: [inside("color", "red")] }] }, "apple"],
]

const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  fc.constantFrom("a", "b", "2026-01-01", "2026-01-01T05:00:00Z", LONG),
  fc.constantFrom(0, 1, 2, -1.5),
  fc.boolean(),
)
const name = fc.constantFrom("a", "b", "c")
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(name, tie("any"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).any
const document = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true })

const path = fc.array(name, { minLength: 1, maxLength: 3 }).map(names => names.join("."))
const bound = (values: fc.Arbitrary<number>) =>
  fc.option(fc.record({ value: values, inclusive: fc.boolean() }), { nil: undefined })
const number = fc.constantFrom(-1.5, 0, 1, 2)
const time = fc.constantFrom(Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1, 5))

const condition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition }>(tie => {
  const of = fc.array(tie("any"), { minLength: 1, maxLength: 3 })
  return {
    any: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({
        kind: fc.constant("in" as const),
        path,
        values: fc.array(scalar, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant("notIn" as const), path, values: fc.array(scalar, { maxLength: 3 }) }),
      fc.record({ kind: fc.constant("numbers" as const), path, lower: bound(number), upper: bound(number) }),
      fc.record({ kind: fc.constant("times" as const), path, lower: bound(time), upper: bound(time) }),
      fc.record({ kind: fc.constant("null" as const), path }),
      fc.record({
        kind: fc.constant("count" as const),
        path,
        min: fc.nat(2),
        max: fc.constantFrom(0, 1, 2, MANY),
      }),
      fc.record({
        kind: fc.constant("id" as const),
        ids: fc.array(fc.constantFrom("0", "1", "7"), { minLength: 1 }),
      }),
      fc.record({ kind: fc.constantFrom("all" as const, "any" as const, "none" as const), of }),
      fc.record({ kind: fc.constant("atLeast" as const), least: fc.integer({ min: 1, max: 3 }), of }),
    ),
  }
}).any

export const filterTests = (open: OpenIndex): void => {
  test("every condition finds what it says", async t => {
    const index = await open(t)
    const records = Object.entries(documents).map(([id, metadata]) => record(id, [1, 1], metadata))
    const shape = await filled(index, records)
    for (const [what, condition, ids] of table) {
      const expected = ids === "" ? [] : ids.split(" ")
      assert.deepEqual((await index.select(shape, condition, 100)).sort(), expected, what)
      assert.deepEqual(
        (await idsOf(index, shape, asking([1, 1], { filter: condition }))).sort(),
        expected,
        what,
      )
      assert.equal(await index.count(shape, condition), expected.length, what)
    }
  })

  test("any filter over any metadata finds what its plain meaning says", async t => {
    const index = await open(t)
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 8 }),
        fc.array(condition, { minLength: 1, maxLength: 5 }),
        async (all, conditions) => {
          const shape = await filled(
            index,
            all.map((metadata, n) => record(String(n), [1, 1], metadata)),
          )
          for (const condition of conditions) {
            const expected = all.flatMap((metadata, n) =>
              naive(condition, String(n), metadata as Record<string, unknown>) ? String(n) : [],
            )
            assert.deepEqual((await index.select(shape, condition, 100)).sort(), expected)
          }
          await index.drop(shape.id)
        },
      ),
      { numRuns: 150 },
    )
  })
}
