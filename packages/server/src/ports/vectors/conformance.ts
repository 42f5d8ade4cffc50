/** The promises of `port.ts` as tests. Every driver passes all of them. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { filterTests } from "./conformance/filters.ts"
import { asking, filled, idsOf, type OpenIndex, record, rejectsAs, shapeOf } from "./conformance/fixture.ts"

const EVERYTHING = { kind: "all", of: [] } as const

const scoreTests = (open: OpenIndex): void => {
  test("the nearest come first, with the score of each metric", async t => {
    const index = await open(t)
    const records = [record("far", [-3, 4]), record("near", [3, 4]), record("long", [30, 40])]
    const scores = async (metric: "cosine" | "dot" | "euclidean") => {
      const shape = await filled(index, records, { metric })
      const { matches } = await index.search(shape, asking([6, 8]))
      return Object.fromEntries(matches.map(({ id, score }) => [id, Number(score.toFixed(5))]))
    }
    assert.deepEqual(Object.entries(await scores("cosine")), [
      ["long", 1],
      ["near", 1],
      ["far", 0.28],
    ])
    assert.deepEqual(Object.entries(await scores("dot")), [
      ["long", 500],
      ["near", 50],
      ["far", 14],
    ])
    assert.deepEqual(Object.entries(await scores("euclidean")), [
      ["near", 0.16667],
      ["far", 0.09218],
      ["long", 0.02439],
    ])
  })

  test("there are as many matches as were asked for, if so many fit", async t => {
    const index = await open(t)
    const records = Array.from({ length: 50 }, (_, n) => record(`v${n}`, [1, n], { odd: n % 2 === 1 }))
    const shape = await filled(index, records)
    assert.equal((await idsOf(index, shape, asking([1, 3], { topK: 7 }))).length, 7)
    assert.equal((await idsOf(index, shape, asking([1, 3], { topK: 1000 }))).length, 50)
    const filter = { kind: "in", path: "odd", values: [true] } as const
    assert.equal((await idsOf(index, shape, asking([1, 3], { topK: 1000, filter }))).length, 25)
    const { matches, exact } = await index.search(shape, asking([1, 0], { scoreThreshold: 0.7, exact: true }))
    assert.deepEqual(
      matches.map(({ id }) => id),
      ["v0", "v1"],
    )
    assert.ok(exact)
  })

  test("equal scores are ordered by id, and an empty collection has no matches", async t => {
    const index = await open(t)
    const shape = await filled(
      index,
      ["c", "a", "b"].map(id => record(id, [1, 1])),
    )
    assert.deepEqual(await idsOf(index, shape, asking([1, 1])), ["a", "b", "c"])
    const empty = await filled(index, [], { dimension: 2 })
    assert.deepEqual(await idsOf(index, empty, asking([1, 1])), [])
    assert.equal(await index.count(empty, EVERYTHING), 0)
  })

  test("very large and very small values keep their order", async t => {
    const index = await open(t)
    const records = [record("huge", [1e15, 1e15]), record("tiny", [1e-30, 0]), record("big", [1e10, 0])]
    const product = await filled(index, records, { metric: "dot" })
    assert.deepEqual(await idsOf(index, product, asking([1e15, 1])), ["huge", "big", "tiny"])
    const cosine = await filled(index, records)
    assert.deepEqual(await idsOf(index, cosine, asking([1, 0])), ["big", "tiny", "huge"])
  })
}

const changeTests = (open: OpenIndex): void => {
  test("a search sees the changes that were applied before it, and the position says how far they go", async t => {
    const index = await open(t)
    const shape = shapeOf()
    assert.equal(await index.position(shape), undefined)
    await index.apply(shape, {
      reset: true,
      upserts: [record("a", [1, 0]), record("b", [0, 1])],
      deletes: [],
      through: 3,
    })
    assert.equal(await index.position(shape), 3)
    assert.deepEqual(await idsOf(index, shape, asking([1, 0])), ["a", "b"])

    const changes = {
      reset: false,
      upserts: [record("a", [0, 1], { n: 1 }), record("c", [1, 0])],
      deletes: ["b", "nobody"],
      through: 5,
    }
    for (let times = 0; times < 2; times++) {
      await index.apply(shape, changes)
      assert.equal(await index.position(shape), 5)
      assert.deepEqual(await idsOf(index, shape, asking([1, 0])), ["c", "a"])
      assert.deepEqual(await index.select(shape, { kind: "in", path: "n", values: [1] }, 10), ["a"])
    }
    await index.apply(shape, { reset: false, upserts: [], deletes: [], through: 9 })
    assert.equal(await index.position(shape), 9)

    await index.apply(shape, { reset: true, upserts: [record("d", [1, 0])], deletes: [], through: 9 })
    assert.deepEqual(await idsOf(index, shape, asking([1, 0])), ["d"])
  })

  test("many writes of the same ids leave the last of each", async t => {
    const index = await open(t)
    const shape = await filled(index, [record("a", [1, 0])])
    for (let round = 0; round < 40; round++) {
      const upserts = Array.from({ length: 100 }, (_, n) => record(`v${n}`, [n + 1, round], { round }))
      await index.apply(shape, { reset: false, upserts, deletes: [`v${round}`], through: round + 2 })
    }
    const last = { kind: "in", path: "round", values: [39] } as const
    assert.equal(await index.count(shape, EVERYTHING), 100)
    assert.equal(await index.count(shape, last), 99)
    assert.deepEqual(await idsOf(index, shape, asking([1, 39], { topK: 1, filter: last })), ["v0"])
    assert.deepEqual(await idsOf(index, shape, asking([1, 0], { topK: 1 })), ["a"])
  })

  test("an index that is gone, or never was, says so", async t => {
    const index = await open(t)
    const shape = shapeOf()
    const changes = { reset: false, upserts: [record("a", [1, 0])], deletes: [], through: 1 }
    await rejectsAs("missing", () => index.apply(shape, changes))
    await rejectsAs("missing", () => index.search(shape, asking([1, 0])))
    await index.drop(shape.id)

    await index.apply(shape, { ...changes, reset: true })
    await index.drop(shape.id)
    assert.equal(await index.position(shape), undefined)
    await rejectsAs("missing", () => index.search(shape, asking([1, 0])))
    await rejectsAs("missing", () => index.select(shape, EVERYTHING, 1))
    await rejectsAs("missing", () => index.count(shape, EVERYTHING))
  })

  test("collections share nothing", async t => {
    const index = await open(t)
    const [mine, theirs] = [
      await filled(index, [record("a", [1, 0])]),
      await filled(index, [record("a", [0, 1]), record("b", [1, 0])]),
    ]
    assert.deepEqual(await idsOf(index, mine, asking([1, 0])), ["a"])
    await index.apply(mine, { reset: false, upserts: [], deletes: ["a", "b"], through: 2 })
    assert.equal(await index.count(mine, EVERYTHING), 0)
    assert.equal(await index.count(theirs, EVERYTHING), 2)
    assert.equal(await index.position(theirs), 1)
  })

  test("a selection has at most as many ids as were asked for", async t => {
    const index = await open(t)
    const shape = await filled(
      index,
      Array.from({ length: 30 }, (_, n) => record(`v${n}`, [1, n])),
    )
    assert.equal(new Set(await index.select(shape, EVERYTHING, 12)).size, 12)
    assert.equal(new Set(await index.select(shape, EVERYTHING, 1000)).size, 30)
  })
}

const lifeTests = (open: OpenIndex): void => {
  test("an index that is open is healthy, and one that is closed is unavailable", async t => {
    const index = await open(t)
    assert.ok((await index.health()).ok)
    const shape = await filled(index, [record("a", [1, 0])])
    await index[Symbol.asyncDispose]()
    const changes = { reset: true, upserts: [], deletes: [], through: 1 }
    await rejectsAs("unavailable", () => index.apply(shape, changes))
    await index[Symbol.asyncDispose]()
  })
}

/** `open` gives each test an empty index. */
export const vectorConformance = (driver: string, open: OpenIndex): void => {
  describe(`${driver} keeps the promises of the vector port`, () => {
    for (const register of [scoreTests, changeTests, filterTests, lifeTests]) register(open)
  })
}
