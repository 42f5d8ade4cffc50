import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { refused } from "../../core/accounts/testing/people.ts"
import { openWire, requestBytes } from "../../testing/wire.ts"
import { bytesOf, storageWorld } from "./testing/world.ts"

const md5 = (bytes: Uint8Array | string) => createHash("md5").update(bytes).digest("hex")

test("an object is read as it was written, with what was said of it", async t => {
  const { svc, bucket, put, fetch } = await storageWorld(t)
  const body = bytesOf(300_000)
  const stored = await put("dir/a b.bin", body, {
    "content-type": "text/x-sample",
    "content-disposition": 'attachment; filename="a.bin"',
    "cache-control": "max-age=5",
    "x-svc-meta-Colour": "blue",
    "x-amz-meta-shape": "round",
    "content-md5": createHash("md5").update(body).digest("base64"),
    "x-svc-checksum-sha256": createHash("sha256").update(body).digest("base64"),
  })

  assert.equal(stored.etag, md5(body))
  assert.deepEqual(stored.custom_metadata, { colour: "blue", shape: "round" })
  assert.deepEqual(stored.http_metadata, {
    content_type: "text/x-sample",
    content_disposition: 'attachment; filename="a.bin"',
    cache_control: "max-age=5",
  })
  assert.deepEqual(Object.keys(stored.checksums), ["sha256"])
  const response = await fetch("dir/a b.bin")
  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), body)
  const expected = {
    "content-type": "text/x-sample",
    "content-length": "300000",
    "content-disposition": 'attachment; filename="a.bin"',
    "cache-control": "max-age=5",
    etag: `"${stored.etag}"`,
    "accept-ranges": "bytes",
    "last-modified": new Date(stored.last_modified).toUTCString(),
    "x-svc-meta-colour": "blue",
    "x-svc-meta-shape": "round",
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(response.headers.get(name), value, name)
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [stored])
  const { object_count, size_bytes } = await svc.storage.getBucket({ name: bucket })
  assert.deepEqual([object_count, size_bytes], [1, 300_000])
})

test("HEAD sends the headers of GET and no body", async t => {
  const { put, fetch } = await storageWorld(t)
  await put("a", "some text", { "x-svc-meta-a": "grün" })
  const seen = async (method: string) => {
    const response = await fetch("a", { method })
    const changing = ["x-request-id", "date", "x-ratelimit-reset", "connection", "keep-alive"]
    const headers = [...response.headers].filter(([name]) => !changing.includes(name))
    return { status: response.status, headers, text: await response.text() }
  }
  const [head, get] = [await seen("HEAD"), await seen("GET")]
  assert.deepEqual(head.headers, get.headers)
  assert.deepEqual([head.status, head.text, get.text], [200, "", "some text"])
  const missing = await fetch("b", { method: "HEAD" })
  assert.deepEqual([missing.status, missing.headers.get("x-error-code")], [404, "object_not_found"])
})

test("an empty object is an object", async t => {
  const { svc, bucket, put, text, fetch } = await storageWorld(t)
  assert.equal((await put("empty", "")).etag, md5(""))
  assert.equal(await text("empty"), "")
  assert.equal((await fetch("empty", { headers: { range: "bytes=0-" } })).status, 416)
  assert.deepEqual((await svc.storage.deleteObjects({ bucket, keys: ["empty", "other"] })).deleted, ["empty"])
})

test("a range of an object is sent, one outside it is refused with its size", async t => {
  const { put, fetch } = await storageWorld(t)
  const { etag } = await put("a", "0123456789")
  const range = async (header: string, more: Record<string, string> = {}) => {
    const response = await fetch("a", { headers: { range: header, ...more } })
    return [response.status, response.headers.get("content-range"), await response.text()]
  }

  assert.deepEqual(await range("bytes=2-4"), [206, "bytes 2-4/10", "234"])
  assert.deepEqual(await range("bytes=7-"), [206, "bytes 7-9/10", "789"])
  assert.deepEqual(await range("bytes=-3"), [206, "bytes 7-9/10", "789"])
  assert.deepEqual(await range("bytes=0-1,5-6"), [200, null, "0123456789"])
  assert.deepEqual((await range("bytes=10-")).slice(0, 2), [416, "bytes */10"])
  assert.deepEqual(await range("bytes=1-2", { "if-range": `"${etag}"` }), [206, "bytes 1-2/10", "12"])
  assert.deepEqual(await range("bytes=1-2", { "if-range": '"other"' }), [200, null, "0123456789"])
})

test("a read answers 304 and 412 as its conditions say", async t => {
  const { put, fetch } = await storageWorld(t)
  const { etag } = await put("a", "text")
  const status = async (headers: Record<string, string>) => (await fetch("a", { headers })).status

  assert.equal(await status({ "if-none-match": `"${etag}"` }), 304)
  assert.equal(await status({ "if-none-match": `W/"${etag}"` }), 304)
  assert.equal(await status({ "if-none-match": '"other"' }), 200)
  assert.equal(await status({ "if-match": '"other"' }), 412)
  assert.equal(await status({ "if-match": `"other", "${etag}"` }), 200)
  assert.equal(await status({ "if-modified-since": new Date(Date.now() + 60_000).toUTCString() }), 304)
  assert.equal(await status({ "if-unmodified-since": new Date(0).toUTCString() }), 412)
  const notModified = await fetch("a", { headers: { "if-none-match": "*" } })
  assert.deepEqual([notModified.status, notModified.headers.get("etag")], [304, `"${etag}"`])
  assert.equal((await fetch("a", { method: "HEAD", headers: { "if-none-match": "*" } })).status, 304)
})

test("content that is not what its checksums say is not stored", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  const wrong = (algorithm: string, text: string) => createHash(algorithm).update(text).digest("base64")
  await refused(put("a", "text", { "content-md5": wrong("md5", "other") }), "checksum_mismatch")
  await refused(put("a", "text", { "x-svc-checksum-sha256": wrong("sha256", "x") }), "checksum_mismatch")
  await refused(put("a", "text", { "x-amz-checksum-crc32": "AAAAAA==" }), "checksum_mismatch")
  await refused(put("a", "text", { "content-md5": "short" }), "invalid_parameter")
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
})

test("of writers that race with conditions exactly one wins", async t => {
  const { put, text } = await storageWorld(t)
  const race = (headers: Record<string, string>, name: string) =>
    Promise.allSettled(Array.from({ length: 12 }, (_, n) => put("a", `${name} ${n}`, headers)))

  const first = await race({ "if-none-match": "*" }, "first")
  const won = first.filter(({ status }) => status === "fulfilled")
  assert.equal(won.length, 1)
  for (const result of first)
    if (result.status === "rejected") assert.equal(result.reason.code, "precondition_failed")
  const winner = first.findIndex(({ status }) => status === "fulfilled")
  assert.equal(await text("a"), `first ${winner}`)

  const next = await race({ "if-match": `"${md5(`first ${winner}`)}"` }, "next")
  assert.equal(next.filter(({ status }) => status === "fulfilled").length, 1)
  await refused(put("missing", "x", { "if-match": "*" }), "precondition_failed")
})

test("any key that UTF-8 can hold names an object of its own", async t => {
  const { svc, bucket, put, text } = await storageWorld(t)
  const keys = [
    "a//b",
    "a/../b",
    "/",
    "//",
    "%",
    "%2F",
    " ",
    "a+b",
    "ä",
    "😀/😀",
    "\u0001",
    "\u007f",
    "a\\b",
    "?#&",
    "x".repeat(1024),
  ]
  for (const key of keys) await put(key, `of ${key}`)
  for (const key of keys) assert.equal(await text(key), `of ${key}`)
  const listed = (await svc.storage.listObjects({ bucket, limit: 1000 })).data.map(({ key }) => key)
  assert.deepEqual(
    listed,
    [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  )
  await refused(put("ä".repeat(513), "x"), "invalid_parameter")

  const anyKey = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 200 })
    .filter(key => !key.includes("\0") && Buffer.byteLength(key) <= 1024 && key !== "." && key !== "..")
  await fc.assert(
    fc.asyncProperty(anyKey, async key => {
      await put(key, key)
      assert.equal(await text(key), key)
      assert.deepEqual((await svc.storage.deleteObjects({ bucket, keys: [key] })).deleted, [key])
    }),
    { numRuns: 40 },
  )
})

test("a bucket that holds objects is not deleted, and one that is empty is", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  await put("a", "1")
  await refused(svc.storage.deleteBucket({ name: bucket }), "bucket_not_empty")
  assert.equal((await svc.storage.deleteObject({ bucket, key: "a" })).deleted, true)
  assert.equal((await svc.storage.deleteObject({ bucket, key: "a" })).deleted, false)
  await svc.storage.createMultipart({ bucket, key: "b" })
  await svc.storage.deleteBucket({ name: bucket })
  await refused(svc.storage.listObjects({ bucket }), "bucket_not_found")
  await refused(put("a", "1"), "bucket_not_found")
})

test("a bucket's name is unique in its project and usable as a host name", async t => {
  const { p, svc, bucket } = await storageWorld(t)
  await refused(svc.storage.createBucket({ name: bucket }), "name_taken")
  for (const name of ["a..b", "a.-b", "192.168.0.1", "public", "xn--abc"])
    await refused(svc.storage.createBucket({ name }), "invalid_name")
  await refused(svc.storage.createBucket({ name: "s3" }), "validation_failed")
  await (await p.client("globex", "storage:read", "storage:write")).storage.createBucket({ name: bucket })
})

test("objects of another tenant are answered like ones that never existed", async t => {
  const { p, bucket, put } = await storageWorld(t)
  await put("a", "secret")
  const stranger = await p.client("globex", "storage:read", "storage:write")
  await refused(stranger.storage.getObject({ bucket, key: "a" }), "bucket_not_found")
  await stranger.storage.createBucket({ name: bucket })
  await refused(stranger.storage.getObject({ bucket, key: "a" }), "object_not_found")
  assert.deepEqual((await stranger.storage.listObjects({ bucket })).data, [])
  assert.equal((await stranger.storage.deleteObject({ bucket, key: "a" })).deleted, false)
})

test("a body that ends before its announced length, or is longer than allowed, stores nothing", async t => {
  const { p, svc, bucket, secret } = await storageWorld(t)
  const wire = await openWire(t, p.url)
  const path = `/v1/storage/buckets/${bucket}/objects/a`
  const headers = { authorization: `Bearer ${secret}` }
  wire.send(requestBytes({ method: "PUT", path, headers: { ...headers, "content-length": "100" }, body: "" }))
  wire.send("only these")
  wire.socket.destroy()
  const large = await openWire(t, p.url)
  large.send(
    requestBytes({ method: "PUT", path, headers: { ...headers, "content-length": String(6 * 1024 ** 3) } }),
  )
  assert.equal((await large.reply()).status, 413)
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
})

test("custom metadata and stored headers are bounded and cannot break out of their line", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  await refused(put("a", "x", { "x-svc-meta-a": "y".repeat(2048) }), "invalid_parameter")
  await put("a", "x", { "x-svc-meta-a": "y".repeat(2047) })
  await refused(
    svc.storage.createMultipart({ bucket, key: "b", http_metadata: { content_type: "a\r\nx: 1" } }),
    "validation_failed",
  )
  await refused(
    svc.storage.createMultipart({ bucket, key: "b", custom_metadata: { a: "a\r\nx: 1" } }),
    "invalid_parameter",
  )
  await refused(
    svc.storage.createMultipart({ bucket, key: "b", custom_metadata: { "a\r\nb": "1" } }),
    "invalid_parameter",
  )
})

test("a page that a tenant stores runs as a stranger, on every way to it", async t => {
  const { p, svc, bucket, put, fetch } = await storageWorld(t)
  await put("evil.html", "<script>steal()</script>", { "content-type": "text/html" })
  await svc.storage.updateBucket({ name: bucket, public: true })
  const { projectId } = await p.tenant("acme")
  const { url } = await svc.storage.presign({ bucket, key: "evil.html" })
  const replies = [
    await fetch("evil.html"),
    await p.request(`/v1/storage/public/${projectId}/${bucket}/evil.html`),
    await p.request(url.slice(new URL(url).origin.length)),
  ]
  for (const { status, headers } of replies) {
    assert.deepEqual(
      [status, headers.get("content-security-policy"), headers.get("x-content-type-options")],
      [200, "sandbox", "nosniff"],
    )
  }
})
