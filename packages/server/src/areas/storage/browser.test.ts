/** Pages of another origin in Chromium: what they may send and read, and what the browser keeps from them. */
import assert from "node:assert/strict"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { openWorld } from "./s3/testing/world.ts"
import { bytesOf } from "./testing/world.ts"

const CHROMIUM = process.env.SVC_CHROMIUM ?? "chromium"
const missing =
  spawnSync(CHROMIUM, ["--version"]).status === 0 ? false : "Chromium is not installed (SVC_CHROMIUM)"

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]

/** Runs in the page. `input` and `tus` are there; what it returns is sent to the test. */
type Script = string

const page = (script: Script, input: object): string => `<!doctype html><meta charset="utf-8">
<script src="/tus.js"></script><script>
(async input => { ${script} })(${JSON.stringify(input).replaceAll("<", "\\u003c")})
  .catch(error => ({ thrown: String(error) }))
  .then(result => fetch("/result", { method: "POST", body: JSON.stringify(result) }))
</script>`

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const stop = async (child: ChildProcess, folder: string): Promise<void> => {
  const isOver = child.exitCode !== null || child.signalCode !== null
  const ended = isOver ? undefined : once(child, "exit")
  child.kill("SIGKILL")
  await ended
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Opens a page of an origin of its own in Chromium; resolves to what its script returned. */
const inPage = async <Result>(t: TestContext, script: Script, input: object): Promise<Result> => {
  // What browsers load is in another folder of the package.
  const tus = await readFile(new URL("../../dist/tus.min.js", import.meta.resolve("tus-js-client")))
  const told = Promise.withResolvers<Result>()
  const server = createServer(async (request, response) => {
    if (request.url === "/tus.js") return void response.setHeader("content-type", "text/javascript").end(tus)
    if (request.url === "/result") {
      told.resolve(JSON.parse(await textOf(request)))
      return void response.end()
    }
    response.setHeader("content-type", "text/html").end(page(script, input))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const folder = await mkdtemp(join(tmpdir(), "svc-chromium-"))
  const child = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${folder}`, `http://127.0.0.1:${port}/`], {
    stdio: "ignore",
  })
  child.once("exit", code => told.reject(new Error(`Chromium ended with ${code}`)))
  child.once("error", told.reject)
  t.after(async () => {
    child.removeAllListeners("exit")
    await stop(child, folder)
    server.close().closeAllConnections()
  })
  return await told.promise
}

test("a page of another origin puts by presigned URL and reads a range, headers included", {
  skip: missing,
}, async t => {
  const { s3, bucketOf } = await openWorld(t)
  const object = { Bucket: await bucketOf(), Key: "from a page é" }
  const result = await inPage(
    t,
    `const put = await fetch(input.put, { method: "PUT", body: "0123456789",
      headers: { "content-type": "text/plain" } })
    const part = await fetch(input.get, { headers: { range: "bytes=2-4" } })
    return { put: put.status, etag: put.headers.get("etag"), get: part.status, text: await part.text(),
      range: part.headers.get("content-range"),
      type: part.headers.get("content-type"), color: part.headers.get("x-amz-meta-color") }`,
    {
      put: await getSignedUrl(s3, new PutObjectCommand({ ...object, Metadata: { color: "red" } })),
      get: await getSignedUrl(s3, new GetObjectCommand(object)),
    },
  )
  assert.deepEqual(result, {
    ...{ put: 200, etag: '"781e5e245d69b566979b86e28d23f2c7"' },
    ...{ get: 206, text: "234", range: "bytes 2-4/10", type: "text/plain", color: "red" },
  })
})

test("a page of another origin uploads by tus, in chunks and in parallel", { skip: missing }, async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const bucket = await bucketOf()
  const size = 3 * 1024 ** 2 + 17
  const result = await inPage(
    t,
    `const body = new Uint8Array(input.size)
    let state = 1
    for (let at = 0; at < body.length; at++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      body[at] = state >>> 24
    }
    const upload = (key, options) => new Promise((resolve, reject) => new tus.Upload(new Blob([body]), {
      endpoint: input.endpoint, retryDelays: null, headers: { authorization: "Bearer " + input.secret },
      metadata: { bucket: input.bucket, key }, onError: reject, onSuccess: resolve, ...options }).start())
    await upload("chunks", { chunkSize: 1024 ** 2 })
    await upload("parallel", { parallelUploads: 3 })
    return "uploaded"`,
    { endpoint: `${p.url}/v1/storage/uploads`, secret: access.secret, bucket, size },
  )
  assert.equal(result, "uploaded")
  const svc = p.as(access.secret)
  for (const key of ["chunks", "parallel"]) {
    const stored = Buffer.from(await (await svc.storage.getObject({ bucket, key })).arrayBuffer())
    assert.ok(stored.equals(bytesOf(size)), key)
  }
})

test("a page of another origin reads public buckets, and no private one: without a signature, with cookies, or with a key", {
  skip: missing,
}, async t => {
  const { platform: p, access, bucketOf } = await openWorld(t)
  const [open, closed] = [await bucketOf("k"), await bucketOf("k")]
  await p.as(access.secret).storage.updateBucket({ name: open, public: true })
  const result = await inPage(
    t,
    `const ask = async (path, options) => {
      try {
        const response = await fetch(input.url + path, options)
        return [response.status, response.ok ? await response.text() : response.headers.get("x-error-code")]
      } catch (error) { return error.name }
    }
    const headers = { authorization: "Bearer " + input.secret }
    return {
      open: await ask("/s3/" + input.open + "/k"),
      closed: await ask("/s3/" + input.closed + "/k"),
      cookies: await ask("/s3/" + input.open + "/k", { credentials: "include" }),
      key: await ask("/v1/storage/buckets", { headers }),
    }`,
    { url: p.url, open, closed, secret: access.secret },
  )
  assert.deepEqual(result, {
    open: [200, "k"],
    closed: [403, "missing_credentials"],
    cookies: "TypeError",
    key: "TypeError",
  })
})
