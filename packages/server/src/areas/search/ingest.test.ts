import assert from "node:assert/strict"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { cloneDatabase } from "../../testing/database.ts"
import { everyScope, platform } from "../../testing/platform.ts"
import { ended, foundIds, READ_AND_WRITE } from "./testing/world.ts"

const LOCAL = { env: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" } }

interface Site {
  readonly url: string
  readonly asked: string[]
  readonly pages: Map<string, { status?: number; type?: string; body: string; wait?: Promise<void> }>
}

const site = async (t: TestContext): Promise<Site> => {
  const asked: string[] = []
  const pages: Site["pages"] = new Map()
  const server = createServer(async (request, response) => {
    const path = request.url ?? ""
    asked.push(path)
    const page = pages.get(path)
    await page?.wait
    response.writeHead(page?.status ?? (page ? 200 : 404), { "content-type": page?.type ?? "text/html" })
    response.end(page?.body ?? "")
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, pages }
}

const page = (title: string, text: string) => ({
  body: `<html><head><title>${title}</title><script>hidden()</script></head><body><p>${text}</p></body></html>`,
})

test("pages are read by their title and text, and each one that fails is named", async t => {
  const p = await platform(t, LOCAL)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const { url, pages } = await site(t)
  pages.set("/a", page("Alpha &amp; Omega", "walnut <b>tree</b>"))
  pages.set("/b", { type: "text/markdown", body: "# Beta\nhazel nut" })
  pages.set("/image", { type: "image/png", body: "walnut" })
  pages.set("/huge", { body: "x".repeat(5_000_000) })
  const urls = ["/a", "/b", "/missing", "/image", "/huge"].map(path => `${url}${path}`)
  const { id } = await acme.search.upsertSource({ name: "site", type: "url", config: { urls } })

  const started = await acme.search.runIngest()
  assert.deepEqual(
    started.sources.map(({ source_id }) => source_id),
    [id],
  )
  const run = await ended(acme, started.run_id)

  const [reading] = run.sources
  assert.deepEqual([run.status, reading?.seen, reading?.written, reading?.failed], ["succeeded", 5, 2, 3])
  assert.deepEqual(reading?.errors.map(({ document_id }) => document_id).sort(), urls.slice(2).sort())
  const [hit] = (await acme.search.query({ q: "walnut" })).hits
  assert.deepEqual([hit?.title, hit?.url], ["Alpha & Omega", `${url}/a`])
  assert.deepEqual(await foundIds(acme, "hidden"), [])
  assert.equal((await acme.search.query({ q: "hazel" })).hits[0]?.title, "Beta")

  // One changes, one fails for now, and both stay.
  pages.set("/a", page("Alpha", "chestnut"))
  pages.set("/b", { status: 500, body: "" })
  const second = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.deepEqual([second.sources[0]?.written, second.sources[0]?.removed], [1, 0])
  assert.deepEqual(await foundIds(acme, "walnut "), [])
  assert.deepEqual(await foundIds(acme, "hazel"), [`${url}/b`])

  // What the source no longer names is gone after its next whole reading.
  await acme.search.upsertSource({ id, name: "site", type: "url", config: { urls: [`${url}/a`] } })
  const third = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.deepEqual([third.sources[0]?.unchanged, third.sources[0]?.removed], [1, 1])
  assert.deepEqual(await foundIds(acme, "hazel"), [])
  assert.equal((await acme.search.getSource({ id })).document_count, 1)
  assert.equal((await acme.search.listRuns({ id })).total, 3)
})

test("a table is read by its primary key, and follows what becomes of its rows", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", ...everyScope)
  const rows = async (sql: string) => await acme.sql.execute({ sql })
  await rows(
    `CREATE TABLE articles (id int PRIMARY KEY, "Head line" text, body text, tags text[], link text)`,
  )
  await rows(`INSERT INTO articles SELECT n, 'Title ' || n, 'walnut number' || n, ARRAY['even'], 'https://example.com/' || n
    FROM generate_series(1, 450) n`)
  const { id } = await acme.search.upsertSource({
    name: "articles",
    type: "database",
    config: { table: "articles", title: "Head line", url: "link", metadata: ["tags"] },
    fields: [{ path: "Head line", weight: 4 }, { path: "body" }],
  })
  const run = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.deepEqual([run.sources[0]?.seen, run.sources[0]?.written], [450, 450])
  assert.equal((await acme.search.query({ q: "walnut" })).total, 450)
  const [hit] = (await acme.search.query({ q: "number77 " })).hits
  assert.deepEqual([hit?.id, hit?.title, hit?.url], ["77", "Title 77", "https://example.com/77"])

  await rows("DELETE FROM articles WHERE id > 10")
  await rows("UPDATE articles SET body = 'cherry' WHERE id = 1")
  const again = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.deepEqual(
    [again.sources[0]?.written, again.sources[0]?.unchanged, again.sources[0]?.removed],
    [1, 9, 440],
  )
  assert.equal((await acme.search.query({ q: "walnut" })).total, 9)

  await rows("DROP TABLE articles")
  const failed = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.equal(failed.status, "failed")
  assert.match(String(failed.sources[0]?.error), /no such table/)
  assert.equal((await acme.search.getSource({ id })).status, "failed")
  // A reading that failed removes nothing.
  assert.equal((await acme.search.query({ q: "walnut" })).total, 9)
})

test("objects under a bucket prefix are read by their type, and gone ones are forgotten", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const acme = p.as(secret)
  await acme.storage.createBucket({ name: "papers" })
  const at = (key: string) => `/v1/storage/buckets/papers/objects/${key}`
  const put = async (key: string, type: string, body: string) => {
    const headers = { authorization: `Bearer ${secret}`, "content-type": type }
    assert.ok((await p.request(at(key), { method: "PUT", headers, body })).ok)
  }
  await put("docs/a.md", "text/markdown", "# Alpha\nwalnut tree")
  await put("docs/b.html", "text/html", "<title>Beta</title><p>hazel<script>walnut</script>")
  await put("docs/c.bin", "application/octet-stream", "walnut")
  await put("other/d.txt", "text/plain", "walnut")
  const config = { bucket: "papers", prefix: "docs/" }
  const { id } = await acme.search.upsertSource({ name: "papers", type: "storage", config })
  const run = await ended(acme, (await acme.search.runSource({ id })).run_id)
  const [reading] = run.sources
  assert.deepEqual([reading?.seen, reading?.written], [3, 2])
  assert.deepEqual(
    reading?.errors.map(({ document_id }) => document_id),
    ["docs/c.bin"],
  )
  assert.deepEqual(await foundIds(acme, "walnut"), ["docs/a.md"])
  assert.equal((await acme.search.query({ q: "hazel" })).hits[0]?.title, "Beta")

  const headers = { authorization: `Bearer ${secret}` }
  assert.ok((await p.request(at("docs/a.md"), { method: "DELETE", headers })).ok)
  const again = await ended(acme, (await acme.search.runSource({ id })).run_id)
  assert.equal(again.sources[0]?.removed, 1)
  assert.deepEqual(await foundIds(acme, "walnut"), [])

  const missing = { name: "none", type: "storage", config: { bucket: "no-such-bucket" } } as const
  const source = await acme.search.upsertSource(missing)
  const failed = await ended(acme, (await acme.search.runSource({ id: source.id })).run_id)
  assert.match(String(failed.sources[0]?.error), /no such bucket/)
})

test("a run that was cut off goes on where it was in another process, and one source has one run", async t => {
  const database = await cloneDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const { url, pages, asked } = await site(t)
  const names = Array.from({ length: 15 }, (_, n) => `/${n}`)
  for (const name of names) pages.set(name, page(name, "walnut"))
  const { promise: wait, resolve: proceed } = Promise.withResolvers<void>()
  pages.set("/12", { ...page("12", "walnut"), wait })

  const first = await platform(t, { ...LOCAL, databaseUrl: database.url })
  const { secret } = await first.key("acme", READ_AND_WRITE)
  const acme = first.as(secret)
  const config = { urls: names.map(name => `${url}${name}`) }
  const { id } = await acme.search.upsertSource({ name: "site", type: "url", config })
  const { run_id } = await acme.search.runSource({ id })
  const deadline = Date.now() + 60_000
  while (!asked.includes("/12")) {
    assert.ok(Date.now() < deadline, "the run does not get to the page it hangs on")
    await delay(20)
  }
  assert.equal((await acme.search.runIngest()).run_id, run_id)
  assert.equal((await acme.search.getRun({ id: run_id })).sources[0]?.seen, 10)
  await first[Symbol.asyncDispose]()
  proceed()

  const second = await platform(t, { ...LOCAL, databaseUrl: database.url })
  const run = await ended(second.as(secret), run_id)
  assert.deepEqual([run.status, run.sources[0]?.seen, run.sources[0]?.written], ["succeeded", 15, 15])
  assert.equal(asked.filter(path => path === "/0").length, 1)
  assert.equal((await second.as(secret).search.query({ q: "walnut" })).total, 15)
})

test("runs asked for while others end are begun or joined, and one of a source that goes finds none", async t => {
  const p = await platform(t, LOCAL)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const { url, pages } = await site(t)
  pages.set("/a", page("A", "walnut"))
  const { id } = await acme.search.upsertSource({ name: "site", type: "url", config: { urls: [`${url}/a`] } })
  const askers = Array.from({ length: 4 }, async () => {
    for (let n = 0; n < 25; n++) assert.equal((await acme.search.runIngest()).sources.length, 1)
  })
  await Promise.all(askers)
  const runs = Array.from({ length: 10 }, () => acme.search.runSource({ id }))
  const [gone, ...told] = await Promise.allSettled([acme.search.deleteSource({ id }), ...runs])
  assert.equal(gone?.status, "fulfilled")
  for (const one of told) if (one.status === "rejected") assert.equal(one.reason.status, 404)
})

test("a source with a schedule is read when its time has come", async t => {
  const p = await platform(t, LOCAL)
  const acme = await p.client("acme", ...READ_AND_WRITE)
  const { url, pages, asked } = await site(t)
  pages.set("/a", page("A", "walnut"))
  const config = { urls: [`${url}/a`] }
  const source = { name: "site", type: "url", config, schedule: 3600 } as const
  const { id } = await acme.search.upsertSource(source)
  const runs = async (count: number) => {
    const deadline = Date.now() + 60_000
    for (;;) {
      await p.clock.advance(2_000)
      const { total, data } = await acme.search.listRuns({ id })
      if (total === count && data.every(({ status }) => status === "succeeded")) return
      assert.ok(Date.now() < deadline, `${total} runs`)
      await delay(20)
    }
  }
  await p.clock.advance(61_000)
  await runs(1)
  await p.clock.advance(3_600_000)
  await runs(2)
  const { data } = await acme.search.listRuns({ id })
  assert.deepEqual(
    data.map(({ errors }) => errors),
    [[], []],
  )
  assert.equal(asked.length, 2)
})
