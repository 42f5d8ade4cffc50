/** Uploads put together from partial ones (tus's concatenation), and what OPTIONS tells of tus. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { Upload } from "tus-js-client"
import { bytesOf, storageWorld } from "./testing/world.ts"

const UPLOADS = "/v1/storage/uploads"
const MIB = 1024 ** 2
const DAY_MS = 86_400_000

const base64 = (text: string) => Buffer.from(text).toString("base64")

const concatWorld = async (t: TestContext) => {
  const world = await storageWorld(t)
  const { p, secret, bucket } = world
  const tusAs =
    (key: string) =>
    async (method: string, path: string, headers: Record<string, string> = {}, body?: string) => {
      const response = await p.request(path, {
        method,
        headers: { authorization: `Bearer ${key}`, "tus-resumable": "1.0.0", ...headers },
        ...(body !== undefined && { body }),
      })
      return {
        status: response.status,
        code: response.headers.get("x-error-code"),
        header: (name: string) => response.headers.get(name),
      }
    }
  const tus = tusAs(secret)
  const bytes = (offset: number) => ({
    "content-type": "application/offset+octet-stream",
    "upload-offset": String(offset),
  })
  /** The address of a new partial upload of that length, with what has arrived. */
  const partial = async (length: number, body: string) => {
    const begun = await tus("POST", UPLOADS, { "upload-concat": "partial", "upload-length": String(length) })
    const path = begun.header("location") ?? ""
    assert.equal((await tus("PATCH", path, bytes(0), body)).status, 204)
    return path
  }
  const final = (paths: readonly string[], key = "whole", by = tus) =>
    by("POST", UPLOADS, {
      "upload-concat": `final;${paths.join(" ")}`,
      "upload-metadata": `bucket ${base64(bucket)},key ${base64(key)},contentType ${base64("text/plain")}`,
    })
  const usage = async () => {
    const { size_bytes, upload_bytes, organization_bytes } = await world.svc.storage.usage()
    return { size_bytes, upload_bytes, organization_bytes }
  }
  return { ...world, tus, tusAs, bytes, partial, final, usage }
}

test("partial uploads are no objects, count as what they hold, and become one object without being sent again", async t => {
  const { p, svc, bucket, tus, bytes, partial, final, text, fetch, usage } = await concatWorld(t)
  const paths = [await partial(6, "hello "), await partial(5, "world")]
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
  assert.deepEqual(await usage(), { size_bytes: 0, upload_bytes: 11, organization_bytes: 11 })
  const [first = "", second = ""] = paths
  assert.equal((await tus("HEAD", first)).header("upload-concat"), "partial")

  // Addresses with the host and without it.
  const made = await final([`${p.config.baseUrl}${first}`, second])
  assert.equal(made.status, 201)
  assert.equal(await text("whole"), "hello world")
  assert.equal((await fetch("whole", { method: "HEAD" })).headers.get("content-type"), "text/plain")
  assert.deepEqual(await usage(), { size_bytes: 11, upload_bytes: 0, organization_bytes: 11 })

  const whole = made.header("location") ?? ""
  const told = await tus("HEAD", whole)
  assert.match(told.header("upload-concat") ?? "", /^final;http/)
  assert.deepEqual([told.header("upload-offset"), told.header("upload-length")], ["11", "11"])
  const more = await tus("PATCH", whole, bytes(11), "more")
  assert.deepEqual([more.status, more.code], [403, "upload_final"])
  for (const path of paths) assert.equal((await tus("HEAD", path)).status, 404)
})

test("a final upload is refused whole while a part is missing, unfinished, a stranger's or an upload of its own", async t => {
  const { p, svc, bucket, tus, tusAs, bytes, partial, final, usage } = await concatWorld(t)
  const done = await partial(3, "abc")
  const open = await partial(10, "abc")
  const metadata = { "upload-metadata": `bucket ${base64(bucket)},key ${base64("single")}` }
  const single = await tus("POST", UPLOADS, { ...metadata, "upload-length": "5" })
  const stranger = await p.key("other", ["storage:read", "storage:write"])
  const foreign = await tusAs(stranger.secret)("POST", UPLOADS, {
    "upload-concat": "partial",
    "upload-length": "0",
  })
  for (const [other, status, code] of [
    [open, 409, "conflict"],
    [single.header("location"), 404, "upload_not_found"],
    [foreign.header("location"), 404, "upload_not_found"],
    [`${UPLOADS}/01890000-0000-7000-8000-000000000000`, 404, "upload_not_found"],
    [done, 400, "invalid_parameter"],
    [`${UPLOADS}/../buckets`, 400, "invalid_parameter"],
    ["/elsewhere", 400, "invalid_parameter"],
  ] as const) {
    const refused = await final([done, other ?? ""])
    assert.deepEqual([refused.status, refused.code], [status, code], String(other))
  }
  for (const header of ["parts", "final;", "final"])
    assert.equal((await tus("POST", UPLOADS, { ...metadata, "upload-concat": header })).status, 400, header)
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])

  // Nothing was taken from the parts.
  assert.equal((await tus("PATCH", open, bytes(3), "defghij")).status, 204)
  const once = await Promise.all([final([done, open], "a"), final([done, open], "b")])
  assert.deepEqual(once.map(({ status }) => status).sort(), [201, 404])
  assert.deepEqual(await usage(), { size_bytes: 13, upload_bytes: 0, organization_bytes: 13 })
})

test("partial uploads that nobody puts together are swept, with their bytes", async t => {
  const { p, partial, tus, usage } = await concatWorld(t)
  const path = await partial(10, "abc")
  await p.clock.advance(7 * DAY_MS + 120_000)
  assert.equal((await tus("HEAD", path)).status, 404)
  assert.deepEqual(await usage(), { size_bytes: 0, upload_bytes: 0, organization_bytes: 0 })
})

test("tus-js-client uploads in parallel, and leaves one object", async t => {
  const { p, svc, bucket, secret } = await concatWorld(t)
  const body = bytesOf(3 * MIB + 17)
  await new Promise<void>((resolve, reject) => {
    new Upload(Buffer.from(body) as never, {
      endpoint: `${p.url}${UPLOADS}`,
      parallelUploads: 3,
      retryDelays: null,
      headers: { authorization: `Bearer ${secret}` },
      metadata: { bucket, key: "parallel" },
      onError: reject,
      onSuccess: () => resolve(),
    }).start()
  })
  const { data: objects } = await svc.storage.listObjects({ bucket })
  assert.deepEqual(
    objects.map(({ key, size }) => [key, size]),
    [["parallel", body.length]],
  )
  const got = await (await svc.storage.getObject({ bucket, key: "parallel" })).arrayBuffer()
  assert.equal(Buffer.compare(Buffer.from(got), body), 0)
})

test("OPTIONS tells what of tus there is, to anybody", async t => {
  const { p } = await concatWorld(t)
  for (const path of [UPLOADS, `${UPLOADS}/01890000-0000-7000-8000-000000000000`]) {
    const { status, headers } = await p.request(path, { method: "OPTIONS" })
    assert.equal(status, 204)
    assert.equal(headers.get("tus-resumable"), "1.0.0")
    assert.equal(headers.get("tus-version"), "1.0.0")
    assert.match(headers.get("tus-extension") ?? "", /\bcreation\b.*\bconcatenation\b/)
    assert.equal(headers.get("tus-max-size"), String(5 * 1024 ** 4))
    assert.equal(headers.get("access-control-allow-origin"), "*")
  }
})
