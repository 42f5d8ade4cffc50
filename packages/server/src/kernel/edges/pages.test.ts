import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { request } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { allOperations, faultCodes, wireCodes } from "@svc/contract"
import { createLog } from "../log.ts"
import { createMetrics } from "../metrics.ts"
import { createHttpEdge } from "./http.ts"
import { renderOpenApi } from "./openapi.ts"
import { addPages, type PagesNeeds } from "./pages.ts"

const baseUrl = "https://cloud.example"

/** The real edge with the pages and no operations, on a port of its own. */
const serve = async (t: TestContext, needs: Partial<PagesNeeds> = {}) => {
  const metrics = createMetrics()
  const log = createLog("silent")
  const pipeline = () => Promise.reject(new Error("no operation is routed"))
  const app = createHttpEdge({ pipeline, operations: [], log, baseUrl, trustedProxies: [] })
  addPages(app, {
    baseUrl,
    openapi: () => renderOpenApi(allOperations, { baseUrl }),
    ready: async () => ({ ready: true }),
    metrics: metrics.text,
    ...needs,
  })
  await app.listen({ host: "127.0.0.1", port: 0 })
  t.after(async () => {
    metrics[Symbol.dispose]()
    await app.close()
  })
  const { port } = app.server.address() as AddressInfo
  return (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual", ...init })
}

const pages = [
  "/",
  "/docs",
  "/docs/errors",
  "/docs/errors/rate_limited",
  "/openapi.json",
  "/health",
  "/health/ready",
  "/metrics",
]

test("every page answers GET, and HEAD with the same headers and no body", async t => {
  const get = await serve(t)
  for (const page of pages) {
    const whole = await get(page)
    assert.equal(whole.status, 200, page)
    assert.ok((await whole.text()).length > 0, page)
    const empty = await get(page, { method: "HEAD" })
    assert.equal(empty.status, 200, page)
    assert.equal(await empty.text(), "", page)
    assert.equal(empty.headers.get("content-type"), whole.headers.get("content-type"), page)
  }
})

test("every page carries a request id and the headers that keep browsers safe", async t => {
  const get = await serve(t)
  for (const page of [...pages, "/docs/errors/no_such_code"]) {
    const { headers } = await get(page)
    assert.match(headers.get("x-request-id") ?? "", /^[\w-]{8,}$/, page)
    assert.equal(headers.get("x-content-type-options"), "nosniff", page)
    assert.equal(headers.get("referrer-policy"), "no-referrer", page)
    assert.match(
      headers.get("content-security-policy") ?? "",
      /default-src '(?:none|self)'.*frame-ancestors 'none'/,
      page,
    )
  }
  const traced = await get("/health", { headers: { "x-request-id": "trace-0123456789" } })
  assert.equal(traced.headers.get("x-request-id"), "trace-0123456789")
})

test("a process that is up is healthy, and ready only when it says so, with the reason when not", async t => {
  const get = await serve(t, {
    ready: async () => ({ ready: false, reason: "the database does not answer" }),
  })
  assert.deepEqual(await (await get("/health")).json(), { status: "ok" })
  const waiting = await get("/health/ready")
  assert.equal(waiting.status, 503)
  assert.deepEqual(await waiting.json(), { status: "not_ready", reason: "the database does not answer" })
  const ready = await serve(t)
  assert.deepEqual(await (await ready("/health/ready")).json(), { status: "ready" })
})

test("the OpenAPI document is rendered once, and not sent again to who has it", async t => {
  let rendered = 0
  const get = await serve(t, {
    openapi: () => {
      rendered++
      return { openapi: "3.1.0" }
    },
  })
  const first = await get("/openapi.json")
  assert.deepEqual(await first.json(), { openapi: "3.1.0" })
  const etag = first.headers.get("etag") ?? ""
  const again = await get("/openapi.json", { headers: { "if-none-match": `"other", ${etag}` } })
  assert.equal(again.status, 304)
  assert.equal(await again.text(), "")
  assert.equal((await get("/openapi.json", { headers: { "if-none-match": '"other"' } })).status, 200)
  assert.equal(rendered, 1)
})

test("a document is compressed for callers that accept it, and the same for those that do not", async t => {
  const get = await serve(t)
  const plain = await get("/openapi.json", { headers: { "accept-encoding": "identity" } })
  assert.equal(plain.headers.get("content-encoding"), null)
  const refused = await get("/openapi.json", { headers: { "accept-encoding": "br, gzip;q=0" } })
  assert.equal(refused.headers.get("content-encoding"), null)
  const packed = await get("/openapi.json", { headers: { "accept-encoding": "br, gzip;q=0.5" } })
  assert.equal(packed.headers.get("content-encoding"), "gzip")
  assert.equal(await packed.text(), await plain.text())
})

/** Addresses that a page makes a browser ask for by itself. */
const loaded = (html: string): string[] =>
  [...html.matchAll(/<(?:link|script|img|iframe)\b[^>]*?(?:href|src)="([^"]+)"/g)].map(
    ([, address = ""]) => address,
  )

test("the API reference loads its files from this host alone, and they never change under their name", async t => {
  const get = await serve(t)
  const page = await get("/docs")
  const policy = page.headers.get("content-security-policy") ?? ""
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src/)
  assert.match(policy, /^default-src 'self';/)

  const html = await page.text()
  assert.doesNotMatch(
    html,
    /<script(?![^>]* src=)/,
    "a script inside the page would be refused by its policy",
  )
  const files = loaded(html).filter(address => !address.startsWith("data:"))
  assert.equal(files.length, 4)
  for (const file of files) {
    assert.match(file, /^\/docs\/assets\/[\w.-]+\/[\w.]+$/)
    const asset = await get(file)
    assert.equal(asset.status, 200, file)
    assert.match(asset.headers.get("cache-control") ?? "", /immutable/)
    assert.match(
      asset.headers.get("content-type") ?? "",
      file.endsWith(".css") ? /^text\/css/ : /^text\/javascript/,
    )
    const text = await asset.text()
    if (file.endsWith(".css"))
      assert.ok(!/@import|url\((?!["']?data:)/.test(text), `${file} loads something else`)
  }
  assert.equal((await get("/docs/assets/0.0.0/viewer.js")).status, 404)
  assert.equal((await get((files[0] ?? "").replace(/[^/]+$/, "package.json"))).status, 404)
})

test("our own pages load nothing and run nothing, and their policy admits their one style sheet", async t => {
  const get = await serve(t)
  for (const path of ["/", "/docs/errors", "/docs/errors/missing_scope", "/docs/errors/no_such_code"]) {
    const page = await get(path)
    const html = await page.text()
    assert.deepEqual(
      loaded(html).filter(address => !address.startsWith("data:")),
      [],
      path,
    )
    assert.doesNotMatch(html, /<script|\son\w+=|style="/, path)
    const style = /<style>([^<]*)<\/style>/.exec(html)?.[1] ?? ""
    const digest = createHash("sha256").update(style).digest("base64")
    assert.ok(page.headers.get("content-security-policy")?.includes(`'sha256-${digest}'`), path)
  }
})

test("every code on the wire has a page that says its status, what it means and what to do", async t => {
  const get = await serve(t)
  const index = await (await get("/docs/errors")).text()
  for (const code of wireCodes) {
    const page = await get(`/docs/errors/${code}`)
    assert.equal(page.status, 200, code)
    const html = await page.text()
    assert.match(
      html,
      new RegExp(`<h1 class="code">${code}</h1><span class="status[^"]*">\\d{3} [A-Z]`),
      code,
    )
    assert.match(html, /What it means and what to do<\/h2><p>[A-Z<]/, code)
    assert.match(html, /<h2>Example<\/h2><pre><code>\{/, code)
    assert.ok(index.includes(`href="/docs/errors/${code}"`), `${code} is not in the index`)
  }
  assert.ok(wireCodes.length > 0 && wireCodes.length <= faultCodes.length)
})

test("an error's page is Markdown for who asks for it, word for word that of docs/errors", async t => {
  const get = await serve(t)
  const page = await get("/docs/errors/project_required", { headers: { accept: "text/markdown" } })
  assert.match(page.headers.get("content-type") ?? "", /^text\/markdown/)
  const committed = await readFile(
    new URL("../../../../../docs/errors/project_required.md", import.meta.url),
    "utf8",
  )
  assert.equal(await page.text(), committed.replaceAll("{base_url}", baseUrl))
  const browser = await get("/docs/errors/project_required", { headers: { accept: "text/html,*/*;q=0.8" } })
  assert.match(browser.headers.get("content-type") ?? "", /^text\/html/)
  const index = await get("/docs/errors", { headers: { accept: "text/markdown, text/html;q=0.5" } })
  assert.match(await index.text(), /^# Errors\n/)
})

test("a code that does not exist is 404, and what was asked for is not repeated on the page", async t => {
  const get = await serve(t)
  for (const code of ["no_such_code", "constructor", encodeURIComponent("<img src=x onerror=alert(1)>")]) {
    const page = await get(`/docs/errors/${code}`)
    assert.equal(page.status, 404, code)
    const html = await page.text()
    assert.ok(!html.includes(code) && !html.includes("onerror"), code)
  }
})

test("the root is a page for people and addresses for programs", async t => {
  const get = await serve(t)
  const page = await get("/", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } })
  assert.match(await page.text(), /href="\/docs"/)
  const described = await get("/", { headers: { accept: "application/json" } })
  assert.match(described.headers.get("content-type") ?? "", /^application\/json/)
  const { openapi_url, docs_url } = (await described.json()) as Record<string, string>
  assert.deepEqual([openapi_url, docs_url], [`${baseUrl}/openapi.json`, `${baseUrl}/docs`])
})

test("links stay below the path that an installation is reached at", async t => {
  const get = await serve(t, { baseUrl: "https://example.com/cloud/" })
  for (const path of ["/", "/docs", "/docs/errors", "/docs/errors/rate_limited"]) {
    const html = await (await get(path)).text()
    const links = [...html.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, link = ""]) => link)
    assert.ok(links.length > 0, path)
    for (const link of links) assert.match(link, /^\/cloud\//, path)
  }
})

test("metrics are not shown under a name that anybody may point to this machine", async t => {
  const open = await serve(t)
  const port = Number(new URL((await open("/health")).url).port)
  // `fetch` has no say in the name.
  const statusUnder = (host: string) =>
    new Promise((resolve, reject) => {
      const sent = request({ port, path: "/metrics", headers: { host } }, response => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on("error", reject).end()
    })
  for (const [host, status] of [
    [`127.0.0.1:${port}`, 200],
    [`localhost:${port}`, 200],
    [`[::1]:${port}`, 200],
    ["rebound.example", 401],
    [`rebound.example:${port}`, 401],
    ["localhost.example", 401],
  ] as const) {
    assert.equal(await statusUnder(host), status, host)
  }
})

test("metrics are for this machine, and for others only with the token", async t => {
  const others = { "x-forwarded-for": "198.51.100.7" }
  const closed = await serve(t)
  assert.match(await (await closed("/metrics")).text(), /^# HELP svc_requests_total /)
  assert.equal((await closed("/metrics", { headers: others })).status, 401)
  assert.equal(
    (await closed("/metrics", { headers: { ...others, authorization: "Bearer undefined" } })).status,
    401,
  )

  const open = await serve(t, { metricsToken: "scrape-me" })
  const ask = (authorization: string) => open("/metrics", { headers: { ...others, authorization } })
  assert.equal((await ask("Bearer scrape-me")).status, 200)
  assert.equal((await ask("Bearer scrape-you")).status, 401)
  const refused = await open("/metrics", { headers: others })
  assert.equal(refused.headers.get("www-authenticate"), "Bearer")
  assert.doesNotMatch(await refused.text(), /svc_requests_total|scrape-me/)
})
