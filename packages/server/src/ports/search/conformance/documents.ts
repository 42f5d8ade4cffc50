import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { document, finds, idsOf, type OpenSearch, OTHER_SOURCE, query, SOURCE } from "./fixture.ts"

export const writeTests = (open: OpenSearch): void => {
  test("a document is found once it was put, as it was put last, and not once it was removed", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [document("1", "apples"), document("2", "pears")])
    await finds(port, owner, "apples", ["1"])
    await port.put(owner, [document("1", "cherries", { title: "Red", url: "https://example.com/1" })])
    await finds(port, owner, "apples", [])
    const [hit] = (await port.search(owner, query("cherries"))).hits
    assert.deepEqual([hit?.title, hit?.url, hit?.sourceId], ["Red", "https://example.com/1", SOURCE])
    await port.remove(owner, SOURCE, ["1", "never there"])
    await finds(port, owner, "cherries", [])
    await finds(port, owner, "", ["2"])
  })

  test("an empty query gives the newest documents", async t => {
    const port = await open(t)
    const owner = randomUUID()
    const at = (day: number) => ({ updatedAt: new Date(Date.UTC(2027, 0, day)) })
    await port.put(owner, [
      document("old", "a", at(1)),
      document("new", "b", at(9)),
      document("mid", "c", at(5)),
    ])
    assert.deepEqual(await idsOf(port, owner, ""), ["new", "mid", "old"])
    assert.deepEqual(await idsOf(port, owner, "", { limit: 1, offset: 1 }), ["mid"])
  })

  test("a source is removed in bounded pieces and leaves the others alone", async t => {
    const port = await open(t)
    const owner = randomUUID()
    const many = Array.from({ length: 25 }, (_, n) => document(`${n}`, "plums"))
    await port.put(owner, [...many, document("0", "plums", { sourceId: OTHER_SOURCE })])
    assert.equal(await port.removeSource(owner, SOURCE, 10), 10)
    assert.equal((await port.search(owner, query("plums"))).total, 16)
    assert.equal(await port.removeSource(owner, SOURCE, 10), 10)
    assert.equal(await port.removeSource(owner, SOURCE, 10), 5)
    assert.equal(await port.removeSource(owner, SOURCE, 10), 0)
    const { hits } = await port.search(owner, query("plums"))
    assert.deepEqual(
      hits.map(({ sourceId }) => sourceId),
      [OTHER_SOURCE],
    )
  })

  test("beginnings are completed with words that documents have, the frequent ones first, and no others", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [
      document("1", "harbour harbour"),
      document("2", "harvest"),
      document("3", "harvest hare"),
    ])
    assert.deepEqual(await port.suggest(owner, "Har", 2), ["harvest", "harbour"])
    await port.remove(owner, SOURCE, ["2", "3"])
    assert.deepEqual(await port.suggest(owner, "har", 5), ["harbour"])
    await port.put(owner, [document("1", "nothing")])
    assert.deepEqual(await port.suggest(owner, "har", 5), [])
    assert.deepEqual(await port.suggest(owner, "%_'\\", 5), [])
  })

  test("many documents put at once by several writers are all found", async t => {
    const port = await open(t)
    const owner = randomUUID()
    const batch = (writer: number) =>
      Array.from({ length: 40 }, (_, n) => document(`${writer}-${n}`, `common word${writer}`))
    await Promise.all([0, 1, 2, 3, 0, 1].map(writer => port.put(owner, batch(writer))))
    assert.equal((await port.search(owner, query("common"))).total, 160)
    assert.equal((await port.search(owner, query("word2"))).total, 40)
    assert.deepEqual((await port.health()).ok, true)
  })
}

export const ownerTests = (open: OpenSearch): void => {
  test("nothing of another owner is found, counted, suggested or removed", async t => {
    const port = await open(t)
    // The same end, which an index might tell owners apart by.
    const mine = "11111111-1111-7111-8111-aaaaaaaaaaaa"
    const theirs = "22222222-2222-7222-8222-aaaaaaaaaaaa"
    const facets = { facets: [["color"]] }
    await port.put(mine, [document("1", "shared word", { metadata: { color: "red" } })])
    await port.put(theirs, [
      document("1", "shared secretword", { metadata: { color: "blue" } }),
      document("2", "shared", { metadata: { color: "blue" } }),
    ])
    await finds(port, mine, "shared", ["1"])
    await finds(port, mine, "secretword", [])
    await finds(port, mine, "secretwrd", [])
    await finds(port, mine, "-shared", [])
    await finds(port, mine, "", ["1"])
    assert.deepEqual(await port.suggest(mine, "secret", 5), [])
    const counted = await port.search(mine, query("shared", facets))
    assert.deepEqual(counted.facets, [[{ value: "red", count: 1 }]])

    await port.remove(mine, SOURCE, ["2"])
    assert.equal(await port.removeSource(mine, SOURCE, 100), 1)
    await finds(port, theirs, "shared", ["1", "2"])
  })
}
