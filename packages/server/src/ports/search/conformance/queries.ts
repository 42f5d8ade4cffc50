import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { document, finds, idsOf, type OpenSearch, OTHER_SOURCE, query } from "./fixture.ts"

export const matchTests = (open: OpenSearch): void => {
  test("every word must be there, in any form that its language gives it", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [
      document("1", "The runners were running through the forests"),
      document("2", "A forest stands still"),
      document("3", "Die Häuser stehen am Wald", { language: "german" }),
    ])
    await finds(port, owner, "forest ", ["1", "2"])
    await finds(port, owner, "RUNS forest ", ["1"])
    await finds(port, owner, "the forests ", ["1", "2"])
    await finds(port, owner, "haus ", ["3"])
    await finds(port, owner, "Häusern ", ["3"], { language: "german" })
    await finds(port, owner, "forest elephants ", [])
  })

  test("the last word may be unfinished, the others may not", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [document("1", "postgres replication"), document("2", "postgraduate studies")])
    await finds(port, owner, "postg", ["1", "2"])
    await finds(port, owner, "postgres repli", ["1"])
    await finds(port, owner, "repli postgres", [])
  })

  test("a phrase stands as it is, and what is excluded is nowhere", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [
      document("1", "green apple tree"),
      document("2", "apple green tree"),
      document("3", "green tree"),
    ])
    await finds(port, owner, '"green apple"', ["1"])
    await finds(port, owner, 'tree -"green apple"', ["2", "3"])
    await finds(port, owner, "green -apple", ["3"])
    await finds(port, owner, "-apple", ["3"])
    await finds(port, owner, '"apple green" tree', ["2"])
    await finds(port, owner, '"never closed', [])
  })

  test("a word that no document has stands for those spelled nearly so", async t => {
    const port = await open(t)
    if (!port.capabilities.typo) return t.skip("this engine has no tolerance of typing errors here")
    const owner = randomUUID()
    await port.put(owner, [
      document("1", "kubernetes cluster"),
      document("2", "hello world"),
      document("3", "help"),
    ])
    await finds(port, owner, "kubernets ", ["1"])
    await finds(port, owner, "kuberentes cluster", ["1"])
    await finds(port, owner, "wrold ", ["2"])
    await finds(port, owner, "zebra ", [])
    // A word that is there means itself.
    await finds(port, owner, "help ", ["3"])
    return undefined
  })

  test("any text is a query", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [document("1", "something ordinary & (odd) 'quoted' back\\slash co-op a:* !")])
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.string({ unit: fc.constantFrom(..."'\"\\()&|!:*<->-~^$%_ab \n\t\0é".split("")), maxLength: 40 }),
      fc
        .array(
          fc.constantFrom("something", "-odd", '"', "':*", "&", "\\", "<->", "a:*B", "co-op", "NOT", "../x"),
          {
            maxLength: 12,
          },
        )
        .map(parts => parts.join(" ")),
    )
    const property = fc.asyncProperty(hostile, async text => {
      const { hits, total } = await port.search(owner, query(text, { facets: [["a"]] }))
      assert.ok(hits.length === total && total <= 1)
    })
    await fc.assert(property, { numRuns: 150 })
  })
}

export const rankTests = (open: OpenSearch): void => {
  test("a word counts more in a part of greater weight, and a boost multiplies", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(owner, [
      document("text", "walnut and others", { weight: 1 }),
      document("middle", "walnut and others", { weight: 3 }),
      document("title", "others and again", { title: "walnut" }),
      document("boosted", "walnut and others", { boost: 50 }),
      document("none", "hazel"),
    ])
    assert.deepEqual(await idsOf(port, owner, "walnut"), ["boosted", "title", "middle", "text"])
  })

  test("pages follow each other and all tell the same total", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await port.put(
      owner,
      Array.from({ length: 23 }, (_, n) => document(`${n}`, "maple")),
    )
    const pages = await Promise.all(
      [0, 10, 20, 30].map(offset => port.search(owner, query("maple", { limit: 10, offset }))),
    )
    assert.deepEqual(
      pages.map(({ hits }) => hits.length),
      [10, 10, 3, 0],
    )
    assert.deepEqual(new Set(pages.map(({ total }) => total)), new Set([23]))
    assert.equal(new Set(pages.flatMap(({ hits }) => hits.map(({ id }) => id))).size, 23)
  })
}

export const snippetTests = (open: OpenSearch): void => {
  test("what was found is marked, also deep in a long text", async t => {
    const port = await open(t)
    const owner = randomUUID()
    const filler = "lorem ipsum dolor sit amet ".repeat(1500)
    await port.put(owner, [document("1", `${filler} the hidden needle lies here ${filler}`)])
    const [hit] = (await port.search(owner, query("needle"))).hits
    assert.match(hit?.snippet ?? "", /hidden <mark>needle<\/mark> lies/)
    assert.ok((hit?.snippet.length ?? 0) < 1000)
    const [plain] = (await port.search(owner, query("needle", { highlight: false }))).hits
    assert.doesNotMatch(plain?.snippet ?? "", /<mark>/)
  })

  test("no markup of a document reaches a snippet", async t => {
    const port = await open(t)
    const owner = randomUUID()
    const attacks = [
      `<script>alert("needle")</script>`,
      `<img src=x onerror=alert(1)> needle <b>needle</b>`,
      `&lt;script&gt;needle&lt;/script&gt; &amp;lt; needle`,
      `<mark onmouseover=alert(1)>needle</mark></mark>`,
      `needle<needle>needle"needle'needle&needle`,
      `<<script>script>needle<</script>/script>`,
      `</mark><svg/onload=alert(1)>needle`,
    ]
    await port.put(
      owner,
      attacks.map((text, n) => document(`${n}`, text, { title: text })),
    )
    for (const highlight of [true, false]) {
      for (const word of ["needle", "script", "lt", "mark", "svg", ""]) {
        const { hits } = await port.search(owner, query(word, { highlight }))
        for (const { snippet } of hits) {
          const rest = snippet.replaceAll(/<\/?mark>/g, "")
          assert.doesNotMatch(rest, /[<>"']/, snippet)
          assert.equal(snippet.split("<mark>").length, snippet.split("</mark>").length)
          assert.doesNotMatch(rest, /&(?!(amp|lt|gt|quot|#39);)/, snippet)
        }
      }
    }
    const [hit] = (await port.search(owner, query("needle", { limit: 200 }))).hits.filter(
      ({ id }) => id === "0",
    )
    assert.match(hit?.snippet ?? "", /&lt;script&gt;alert\(&quot;<mark>needle<\/mark>&quot;\)/)
  })
}

export const filterTests = (open: OpenSearch): void => {
  const fill = async (port: Awaited<ReturnType<OpenSearch>>, owner: string) =>
    port.put(owner, [
      document("1", "chair", {
        metadata: { color: "red", tags: ["new", "wood"], price: { net: 10 }, year: "2020" },
      }),
      document("2", "chair", {
        metadata: { color: "blue", tags: ["wood"], price: { net: 25.5 }, sold: true },
      }),
      document("3", "chair", { metadata: { color: "red", tags: [], price: { net: 40 }, sold: false } }),
      document("4", "chair", { sourceId: OTHER_SOURCE }),
    ])

  test("filters hold for values, any of several, ranges and lists", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await fill(port, owner)
    const color = ["color"]
    const net = ["price", "net"]
    await finds(port, owner, "chair", ["1", "3"], { filter: [{ path: color, anyOf: ["red"] }] })
    await finds(port, owner, "", ["1", "2", "3"], { filter: [{ path: color, anyOf: ["red", "blue"] }] })
    await finds(port, owner, "chair", ["1", "2"], { filter: [{ path: ["tags"], anyOf: ["wood"] }] })
    await finds(port, owner, "chair", ["2", "3"], { filter: [{ path: net, range: { gt: 10, lte: 40 } }] })
    await finds(port, owner, "chair", ["2"], { filter: [{ path: ["sold"], anyOf: [true] }] })
    await finds(port, owner, "chair", ["1"], {
      filter: [
        { path: net, anyOf: [10] },
        { path: color, anyOf: ["red"] },
      ],
    })
    await finds(port, owner, "chair", ["1"], {
      filter: [{ path: ["year"], range: { gte: "2019", lt: "2021" } }],
    })
    await finds(port, owner, "chair", [], { filter: [{ path: ["nothing"], anyOf: ["x"] }] })
    await finds(port, owner, "chair", ["4"], { sourceId: OTHER_SOURCE })
    await finds(port, owner, "chair", ["1", "2", "3"], { withoutSources: [OTHER_SOURCE] })
  })

  test("facets count the values of everything that matches", async t => {
    const port = await open(t)
    const owner = randomUUID()
    await fill(port, owner)
    const { facets } = await port.search(
      owner,
      query("chair", { facets: [["color"], ["tags"], ["price", "net"], ["sold"], ["none"]], limit: 1 }),
    )
    assert.deepEqual(facets[0], [
      { value: "red", count: 2 },
      { value: "blue", count: 1 },
    ])
    assert.deepEqual(facets[1], [
      { value: "wood", count: 2 },
      { value: "new", count: 1 },
    ])
    assert.deepEqual(facets[2]?.map(({ value }) => value).sort(), [10, 25.5, 40])
    assert.deepEqual(facets[3]?.map(({ value }) => value).sort(), [false, true])
    assert.deepEqual(facets[4], [])
    const one = await port.search(owner, query("", { facets: [["color"]], facetValuesMax: 1 }))
    assert.deepEqual(one.facets, [[{ value: "red", count: 2 }]])
  })
}
