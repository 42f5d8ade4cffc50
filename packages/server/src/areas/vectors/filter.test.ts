import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { isFault } from "../../kernel/fault.ts"
import { naive } from "../../ports/vectors/conformance/naive.ts"
import type { Condition } from "../../ports/vectors/filter.ts"
import { readFilter } from "./filter.ts"

const from = (value: number) => ({ value, inclusive: true })
const past = (value: number) => ({ value, inclusive: false })
const equals = (path: string, value: string | number | boolean): Condition => ({
  kind: "in",
  path,
  values: [value],
})
const MANY = Number.POSITIVE_INFINITY

const readable: readonly (readonly [filter: Record<string, unknown>, condition: Condition])[] = [
  [{}, { kind: "all", of: [] }],
  [{ must: [] }, { kind: "all", of: [] }],
  [
    { must: null, should: null },
    { kind: "all", of: [] },
  ],
  [{ color: "red" }, { kind: "all", of: [equals("color", "red")] }],
  [{ color: ["red", 1] }, { kind: "all", of: [{ kind: "in", path: "color", values: ["red", 1] }] }],
  [{ key: "red" }, { kind: "all", of: [equals("key", "red")] }],
  [
    { a: null, b: true },
    { kind: "all", of: [{ kind: "null", path: "a" }, equals("b", true)] },
  ],
  [{ must: { key: "a", match: { value: 1 } } }, { kind: "all", of: [equals("a", 1)] }],
  [{ key: "a.b[].c", match: { value: "x" } }, equals("a.b.c", "x")],
  [
    { should: [{ key: "a", match: { any: [1, 2] } }] },
    { kind: "any", of: [{ kind: "in", path: "a", values: [1, 2] }] },
  ],
  [
    { must_not: [{ key: "a", match: { except: [] } }] },
    { kind: "none", of: [{ kind: "notIn", path: "a", values: [] }] },
  ],
  [
    { key: "a", range: { gt: 1, lte: 2.5 } },
    { kind: "numbers", path: "a", lower: past(1), upper: from(2.5) },
  ],
  [
    { key: "a", range: { gte: null, lt: 0 } },
    { kind: "numbers", path: "a", lower: undefined, upper: past(0) },
  ],
  [
    { key: "a", range: { gte: "2026-01-01T01:00:00+01:00", lt: "2026-01-02" } },
    { kind: "times", path: "a", lower: from(Date.UTC(2026, 0, 1)), upper: past(Date.UTC(2026, 0, 2)) },
  ],
  [
    { key: "a", values_count: { gt: 1.5 } },
    { kind: "count", path: "a", min: 2, max: MANY },
  ],
  [
    { key: "a", values_count: { gt: 1, lt: 4 } },
    { kind: "count", path: "a", min: 2, max: 3 },
  ],
  [
    { key: "a", values_count: { gte: 1, lte: 2.5 } },
    { kind: "count", path: "a", min: 1, max: 2 },
  ],
  [{ is_empty: { key: "a" } }, { kind: "count", path: "a", min: 0, max: 0 }],
  [{ is_null: { key: "a" } }, { kind: "null", path: "a" }],
  [{ has_id: ["x", 7] }, { kind: "id", ids: ["x", "7"] }],
  [
    { key: "a", match: { value: 1 }, range: { lt: 5 } },
    { kind: "all", of: [equals("a", 1), { kind: "numbers", path: "a", lower: undefined, upper: past(5) }] },
  ],
  [
    { min_should: { conditions: [{ has_id: ["x"] }, { key: "a", match: { value: 1 } }], min_count: 2 } },
    { kind: "atLeast", least: 2, of: [{ kind: "id", ids: ["x"] }, equals("a", 1)] },
  ],
  [
    { must: [{ should: [{ has_id: ["x"] }], must_not: [{ is_null: { key: "a" } }] }] },
    {
      kind: "all",
      of: [
        {
          kind: "all",
          of: [
            { kind: "any", of: [{ kind: "id", ids: ["x"] }] },
            { kind: "none", of: [{ kind: "null", path: "a" }] },
          ],
        },
      ],
    },
  ],
]

const nested = (depth: number): Record<string, unknown> =>
  depth === 1 ? { must: [{ has_id: ["x"] }] } : { must: [nested(depth - 1)] }

const unreadable: readonly (readonly [filter: Record<string, unknown>, location: string])[] = [
  [{ must: "red" }, "body.filter.must"],
  [{ must: [1] }, "body.filter.must[0]"],
  [{ must: [{}] }, "body.filter.must[0]"],
  [{ must: [{ color: "red" }] }, "body.filter.must[0]"],
  [{ must: [], color: "red" }, "body.filter.color"],
  [{ must: [{ key: "a" }] }, "body.filter.must[0]"],
  [{ must: [{ key: "", match: { value: 1 } }] }, "body.filter.must[0].key"],
  [{ must: [{ key: "a", match: 1 }] }, "body.filter.must[0].match"],
  [{ must: [{ key: "a", match: {} }] }, "body.filter.must[0].match"],
  [{ must: [{ key: "a", match: { text: "x" } }] }, "body.filter.must[0].match.text"],
  [{ must: [{ key: "a", match: { value: null } }] }, "body.filter.must[0].match.value"],
  [{ must: [{ key: "a", match: { any: [] } }] }, "body.filter.must[0].match.any"],
  [{ must: [{ key: "a", match: { any: [[1]] } }] }, "body.filter.must[0].match.any[0]"],
  [{ must: [{ key: "a", match: { any: Array(1001).fill(1) } }] }, "body.filter.must[0].match.any"],
  [{ must: [{ key: "a", range: {} }] }, "body.filter.must[0].range"],
  [{ must: [{ key: "a", range: { gt: 1, gte: 1 } }] }, "body.filter.must[0].range"],
  [{ must: [{ key: "a", range: { gt: "yesterday" } }] }, "body.filter.must[0].range.gt"],
  [{ must: [{ key: "a", range: { gt: 1, lt: "2026-01-01" } }] }, "body.filter.must[0].range.lt"],
  [{ must: [{ key: "a", range: { above: 1 } }] }, "body.filter.must[0].range.above"],
  [{ must: [{ key: "a", values_count: { gt: "2026-01-01" } }] }, "body.filter.must[0].values_count"],
  [{ must: [{ key: "a", geo_radius: {} }] }, "body.filter.must[0].geo_radius"],
  [{ must: [{ has_id: [] }] }, "body.filter.must[0].has_id"],
  [{ must: [{ has_id: ["é".repeat(65)] }] }, "body.filter.must[0].has_id[0]"],
  [{ must: [{ has_id: ["x"], is_null: { key: "a" } }] }, "body.filter.must[0]"],
  [{ must: [{ is_empty: "a" }] }, "body.filter.must[0].is_empty"],
  [{ min_should: { conditions: [], min_count: 0 } }, "body.filter.min_should.min_count"],
  [{ color: { $eq: "red" } }, "body.filter.color"],
  [{ should: nested(8) }, "body.filter.should.must[0].must[0].must[0].must[0].must[0].must[0].must[0]"],
  [{ must: Array(257).fill({ has_id: ["x"] }) }, "body.filter.must[256]"],
]

test("every form of the grammar is read as what it means", () => {
  for (const [filter, condition] of readable)
    assert.deepEqual(readFilter(filter), condition, JSON.stringify(filter))
  assert.ok(readFilter(nested(8)))
})

test("what is no filter is refused, and told its place", () => {
  for (const [filter, location] of unreadable) {
    assert.throws(
      () => readFilter(filter),
      (error: unknown) => {
        assert.ok(isFault(error, "validation_failed"))
        assert.equal(error.details.errors?.[0]?.location, location)
        return true
      },
    )
  }
})

test("any JSON object is read or refused, and what is read means something", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), filter => {
      try {
        assert.equal(typeof naive(readFilter(filter as Record<string, unknown>), "id", { a: 1 }), "boolean")
      } catch (error) {
        assert.ok(isFault(error, "validation_failed"))
      }
    }),
  )
})
