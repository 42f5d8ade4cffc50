/** How the console's page and files are served. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { pathToFileURL } from "node:url"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { createLog } from "../log.ts"
import { createMetrics } from "../metrics.ts"
import { createHttpEdge } from "./http.ts"
import { addPages, type PagesNeeds } from "./pages.ts"

const serve = async (t: TestContext, needs: Partial<PagesNeeds> = {}): Promise<string> => {
  const metrics = createMetrics()
  const baseUrl = needs.baseUrl ?? "https://cloud.example"
  const pipeline = () => Promise.reject(new Error("no operation is routed"))
  const app = createHttpEdge({
    pipeline,
    operations: [],
    log: createLog("silent"),
    baseUrl,
    trustedProxies: [],
  })
  const ready = async () => ({ ready: true })
  addPages(app, { baseUrl, openapi: () => ({}), ready, metrics: metrics.text, ...needs })
  await app.listen({ host: "127.0.0.1", port: 0 })
  t.after(async () => {
    metrics[Symbol.dispose]()
    await app.close()
  })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** As it travels: `fetch` would undo the compression, and tidy the path. */
const raw = (url: string, path: string, coding: string) =>
  new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const { hostname, port } = new URL(url)
      request({ hostname, port, path, headers: { "accept-encoding": coding } }, response => {
        const parts: Buffer[] = []
        response.on("data", part => parts.push(part))
        response.on("end", () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
        )
      })
        .on("error", reject)
        .end()
    },
  )

const filesOf = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file = ""]) => file)

test("every address of the console is one page without inline script, held by its policy, and not sent again", async t => {
  const url = await serve(t)
  const page = await fetch(`${url}/console`)
  assert.equal(page.status, 200)
  const policy = page.headers.get("content-security-policy") ?? ""
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'$/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  const html = await page.text()
  assert.doesNotMatch(html, /<script(?![^>]* src=)|\son\w+=|style="|<style/)
  for (const path of ["/console/", "/console/api/kvSet", "/console/areas/kv?in=some"]) {
    const deep = await fetch(`${url}${path}`)
    assert.equal(deep.status, 200, path)
    assert.equal(await deep.text(), html, path)
  }
  const etag = page.headers.get("etag") ?? ""
  assert.equal((await fetch(`${url}/console`, { headers: { "if-none-match": etag } })).status, 304)
})

test("the frame for mails is a sandbox of this host's pages alone, in which nothing but its one script runs", async t => {
  const url = await serve(t)
  const frame = await fetch(`${url}/console/frame`)
  const policy = frame.headers.get("content-security-policy") ?? ""
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^ ]+'; /)
  assert.match(policy, /frame-ancestors 'self'; sandbox allow-scripts$/)
  assert.doesNotMatch(policy, /same-origin|https?:|\*/)
  assert.equal(frame.headers.get("x-frame-options"), "SAMEORIGIN")
  const script = /<script>(.*)<\/script>/.exec(await frame.text())?.[1] ?? ""
  assert.ok(policy.includes(createHash("sha256").update(script).digest("base64")))
})

test("its files travel as the browser accepts them, never change, and are the only ones", async t => {
  const url = await serve(t)
  const files = filesOf(await (await fetch(`${url}/console`)).text())
  assert.equal(files.length, 3)
  for (const file of files) {
    const plain = await raw(url, file, "identity")
    const zipped = await raw(url, file, "gzip, deflate")
    const brotli = await raw(url, file, "gzip, deflate, br, zstd")
    assert.equal(plain.status, 200, file)
    assert.equal(plain.headers["content-encoding"], undefined)
    assert.equal(zipped.headers["content-encoding"], "gzip")
    assert.equal(brotli.headers["content-encoding"], "br")
    assert.ok(gunzipSync(zipped.body).equals(plain.body), file)
    assert.ok(brotliDecompressSync(brotli.body).equals(plain.body), file)
    assert.match(String(plain.headers["cache-control"]), /immutable/)
    assert.match(
      String(plain.headers["content-type"]),
      file.endsWith(".css") ? /^text\/css/ : /^text\/javascript/,
    )
    const again = await fetch(`${url}${file}`, {
      headers: { "if-none-match": `"${file.split("/").at(-1)}.br"`, "accept-encoding": "br" },
    })
    assert.equal(again.status, 304, file)
  }
  const others = [
    "manifest.json",
    "stamp.json",
    "app.js",
    "..%2Fpackage.json",
    "%2e%2e%2f%2e%2e%2fpackage.json",
    "constructor",
  ]
  for (const other of others)
    assert.equal((await raw(url, `/console/assets/${other}`, "br")).status, 404, other)
  assert.equal((await fetch(`${url}/console/favicon.ico`)).status, 404)
})

test("below a path of its own the page asks for its files there", async t => {
  const url = await serve(t, { baseUrl: "https://example.com/cloud/" })
  const html = await (await fetch(`${url}/console`)).text()
  assert.match(html, /data-root="\/cloud"/)
  for (const file of filesOf(html)) assert.match(file, /^\/cloud\/console\/assets\//)
})

test("where the console could not be made, its address says how to make it", async t => {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const url = await serve(t, { consoleFolder: pathToFileURL(`${folder}/`) })
  const page = await fetch(`${url}/console`)
  assert.equal(page.status, 503)
  assert.match(await page.text(), /npm run bundle/)
  assert.equal((await fetch(`${url}/health`)).status, 200)
})
