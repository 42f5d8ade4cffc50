import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { systemClock } from "../../kernel/clock.ts"
import { createTestClock } from "../../testing/clock.ts"
import { asking, filled, idsOf, record, rejectsAs, shapeOf } from "./conformance/fixture.ts"
import { naive } from "./conformance/naive.ts"
import { vectorConformance } from "./conformance.ts"
import { openUsearchIndex, type UsearchOptions } from "./drivers/usearch/driver.ts"
import type { Condition } from "./filter.ts"
import type { CollectionShape, VectorIndexPort } from "./port.ts"
import { makeClusters, SELECTIONS } from "./testing/clusters.ts"

const open = (t: TestContext, options: Partial<UsearchOptions> = {}): VectorIndexPort => {
  const index = openUsearchIndex({ memoryBytes: 2 ** 28, clock: systemClock, ...options })
  t.after(() => index[Symbol.asyncDispose]())
  return index
}

vectorConformance("usearch", async t => open(t))

/** Builds go on beside the test, for some seconds at most. */
const untilReady = async (index: VectorIndexPort, { id }: CollectionShape) => {
  const deadline = Date.now() + 60_000
  while (index.state(id) !== "ready") {
    assert.ok(Date.now() < deadline, "the graph is not built after a minute")
    await delay(20)
  }
}

const SIZE = 12_000
const DIMENSION = 32
const set = makeClusters(SIZE, DIMENSION, 60)

const records = set.rows.map((values, n) => ({
  id: `v${n}`,
  values,
  metadata: JSON.stringify(set.metadata[n]),
}))

const fill = async (index: VectorIndexPort, shape: CollectionShape) => {
  for (let from = 0; from < SIZE; from += 1_000) {
    const upserts = records.slice(from, from + 1_000)
    await index.apply(shape, { reset: from === 0, upserts, deletes: [], through: from + 1 })
  }
}

const QUESTIONS = 40

/** The share of the ten nearest that are found, and how many searches were exact. */
const recallOf = async (index: VectorIndexPort, shape: CollectionShape, filter: Condition | undefined) => {
  let found = 0
  let exactly = 0
  for (let n = 0; n < QUESTIONS; n++) {
    const query = { ...asking([], { filter }), vector: set.question() }
    const { matches, exact } = await index.search(shape, query)
    const truth = await index.search(shape, { ...query, exact: true })
    assert.equal(matches.length, 10)
    assert.ok(truth.exact)
    const nearest = new Set(truth.matches.map(({ id }) => id))
    found += matches.filter(({ id }) => nearest.has(id)).length
    if (exact) exactly += 1
  }
  return { recall: found / (10 * QUESTIONS), exactly }
}

for (const metric of ["cosine", "dot", "euclidean"] as const) {
  test(`of the ten nearest by ${metric} at least 95 % are found, however many fit the filter`, async t => {
    const index = open(t)
    const shape = shapeOf({ dimension: DIMENSION, type: "hnsw", metric })
    await fill(index, shape)
    await untilReady(index, shape)
    for (const [share, filter] of Object.entries(SELECTIONS)) {
      const { recall, exactly } = await recallOf(index, shape, filter)
      t.diagnostic(`${share} %: ${recall}, ${exactly} of ${QUESTIONS} searches exact`)
      assert.ok(recall >= 0.95, `recall at ${share} % is ${recall}`)
      // Else this would not test the graph at all.
      if (Number(share) >= 10) assert.ok(exactly < QUESTIONS / 2)
    }
  })
}

test("an exact search is what comparing all by hand gives, with the same scores", async t => {
  const index = open(t)
  const shape = shapeOf({ dimension: DIMENSION, metric: "euclidean" })
  await fill(index, shape)
  for (const filter of Object.values(SELECTIONS)) {
    const vector = set.question()
    const { matches } = await index.search(shape, {
      ...asking([], { filter, exact: true, topK: 25 }),
      vector,
    })
    const byHand = records
      .filter((_, n) => !filter || naive(filter, "", set.metadata[n] ?? {}))
      .map(({ id, values }) => {
        const distance = Math.hypot(...values.map((value, n) => value - (vector[n] ?? 0)))
        return { id, score: Number((1 / (1 + distance)).toFixed(6)) }
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, 25)
    assert.deepEqual(
      matches.map(({ id, score }) => ({ id, score: Number(score.toFixed(6)) })),
      byHand.slice(0, matches.length),
    )
    assert.equal(matches.length, Math.min(25, byHand.length))
  }
})

test("a filter that fits vectors far from the question still gives as many as there are", async t => {
  const index = open(t)
  const shape = shapeOf({ dimension: DIMENSION, type: "hnsw" })
  await fill(index, shape)
  await untilReady(index, shape)
  const filter = {
    kind: "numbers",
    path: "cluster",
    lower: { value: 40, inclusive: true },
    upper: undefined,
  } as const
  for (let n = 0; n < 20; n++) {
    const near = set.rows[set.metadata.findIndex(({ cluster }) => cluster === n)] ?? []
    assert.equal((await idsOf(index, shape, asking([...near], { filter, topK: 50 }))).length, 50)
  }
})

test("a graph that was written over and over finds the living, and only them", async t => {
  const index = open(t)
  const shape = shapeOf({ dimension: DIMENSION, type: "hnsw", efConstruction: 48 })
  await fill(index, shape)
  await untilReady(index, shape)
  for (let round = 0; round < 2; round++) {
    for (let from = 0; from < SIZE; from += 1_000) {
      const upserts = records.slice(from, from + 900)
      const deletes = records.slice(from + 900, from + 1_000).map(({ id }) => id)
      await index.apply(shape, { reset: false, upserts, deletes, through: SIZE * (round + 2) + from })
      const { matches } = await index.search(shape, { ...asking([]), vector: set.question() })
      assert.equal(matches.length, 10)
    }
  }
  await untilReady(index, shape)
  assert.equal(await index.count(shape, { kind: "all", of: [] }), SIZE * 0.9)
  const { recall } = await recallOf(index, shape, undefined)
  assert.ok(recall >= 0.95, `recall is ${recall}`)
  const gone = new Set(records.filter((_, n) => n % 1_000 >= 900).map(({ id }) => id))
  const all = await idsOf(index, shape, { ...asking([], { topK: 1_000 }), vector: set.question() })
  assert.deepEqual(
    all.filter(id => gone.has(id)),
    [],
  )
})

test("collections that were not used for longest make room, and one that is too large is refused", async t => {
  const index = open(t, { memoryBytes: 2_000_000 })
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => record(`v${n}`, Array<number>(100).fill(n + 1)))
  const first = await filled(index, many(2_000))
  const second = await filled(index, many(2_000))
  assert.equal(await index.position(first), undefined)
  await rejectsAs("missing", () => index.search(first, asking(Array(100).fill(1))))
  assert.equal(await index.position(second), 1)
  await rejectsAs("refused", () => filled(index, many(6_000)))
  await rejectsAs("refused", () => filled(index, many(1), { count: 6_000 }))
  assert.deepEqual(index.usage(), { collections: 0, vectors: 0, bytes: 0 })
  await filled(index, many(100))
})

test("a collection that nobody searches for a quarter of an hour leaves the memory", async t => {
  const clock = createTestClock()
  const index = open(t, { clock })
  const idle = await filled(index, [record("a", [1, 0])])
  const used = await filled(index, [record("a", [1, 0])])
  await clock.advance(10 * 60_000)
  await index.search(used, asking([1, 0]))
  await clock.advance(6 * 60_000)
  assert.equal(index.state(idle.id), "cold")
  assert.deepEqual(await idsOf(index, used, asking([1, 0])), ["a"])
  await clock.advance(16 * 60_000)
  assert.equal(index.usage().collections, 0)
  await rejectsAs("missing", () => index.search(used, asking([1, 0])))
  assert.deepEqual(await idsOf(index, await filled(index, [record("b", [1, 0])]), asking([1, 0])), ["b"])
})
