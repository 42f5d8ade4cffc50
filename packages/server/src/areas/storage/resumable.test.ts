import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { Upload } from "tus-js-client"
import { openWire, requestBytes } from "../../testing/wire.ts"
import { bytesOf, storageWorld } from "./testing/world.ts"

const MIB = 1024 ** 2
const UPLOADS = "/v1/storage/uploads"

const base64 = (text: string) => Buffer.from(text).toString("base64")

const tusWorld = async (t: Parameters<typeof storageWorld>[0]) => {
  const world = await storageWorld(t)
  const { p, secret, bucket } = world
  const authorization = `Bearer ${secret}`
  const tus = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Uint8Array,
  ) => {
    const response = await p.request(path, {
      method,
      headers: { authorization, "tus-resumable": "1.0.0", ...headers },
      ...(body !== undefined && { body }),
    })
    const offset = response.headers.get("upload-offset")
    return {
      status: response.status,
      code: response.headers.get("x-error-code"),
      offset: offset === null ? null : Number(offset),
      header: (name: string) => response.headers.get(name),
    }
  }
  const metadata = (key: string) => ({ "upload-metadata": `bucket ${base64(bucket)},key ${base64(key)}` })
  const begin = async (key: string, length: number) =>
    (await tus("POST", UPLOADS, { ...metadata(key), "upload-length": String(length) })).header("location") ??
    ""
  const patch = (path: string, offset: number, body: Uint8Array, headers: Record<string, string> = {}) =>
    tus(
      "PATCH",
      path,
      { "content-type": "application/offset+octet-stream", "upload-offset": String(offset), ...headers },
      body,
    )
  return { ...world, authorization, tus, metadata, begin, patch }
}

test("tus-js-client uploads in chunks, and the object is whole", async t => {
  const { p, svc, bucket, secret } = await tusWorld(t)
  const body = bytesOf(3 * MIB + 17)
  await new Promise<void>((resolve, reject) => {
    new Upload(Buffer.from(body) as never, {
      endpoint: `${p.url}${UPLOADS}`,
      chunkSize: MIB,
      retryDelays: null,
      headers: { authorization: `Bearer ${secret}` },
      // As Supabase's clients name them.
      metadata: {
        bucketName: bucket,
        objectName: "dir/film",
        contentType: "video/mp4",
        cacheControl: "3600",
        metadata: JSON.stringify({ a: "b" }),
      },
      onError: reject,
      onSuccess: () => resolve(),
    }).start()
  })
  const response = await svc.storage.getObject({ bucket, key: "dir/film" })
  assert.equal(response.headers.get("content-type"), "video/mp4")
  assert.equal(response.headers.get("cache-control"), "max-age=3600")
  assert.equal(response.headers.get("x-svc-meta-a"), "b")
  assert.ok(Buffer.from(body).equals(Buffer.from(await response.arrayBuffer())))
})

test("an upload is begun, asked after, continued and given up", async t => {
  const { svc, bucket, tus, metadata, begin, patch, text } = await tusWorld(t)
  const path = await begin("a", 6)
  const first = await tus("HEAD", path)
  assert.deepEqual([first.status, first.offset, first.header("upload-length")], [200, 0, "6"])
  assert.equal(first.header("cache-control"), "no-store")
  assert.equal((await patch(path, 0, Buffer.from("abc"))).offset, 3)
  const wrong = await patch(path, 0, Buffer.from("abc"))
  assert.deepEqual([wrong.status, wrong.code], [409, "conflict"])
  assert.equal((await patch(path, 3, Buffer.from("defg"))).status, 413)
  assert.equal((await tus("HEAD", path)).offset, 3)
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
  const last = await patch(path, 3, Buffer.from("def"))
  assert.deepEqual([last.status, last.offset], [204, 6])
  assert.equal(await text("a"), "abcdef")
  assert.equal((await tus("HEAD", path)).offset, 6)

  const other = await begin("b", 6)
  await patch(other, 0, Buffer.from("abc"))
  assert.equal((await tus("DELETE", other)).status, 204)
  assert.equal((await tus("HEAD", other)).status, 404)
  assert.equal((await svc.storage.usage()).upload_bytes, 0)

  const whole = await tus(
    "POST",
    UPLOADS,
    { ...metadata("c"), "upload-length": "2", "content-type": "application/offset+octet-stream" },
    "hi",
  )
  assert.deepEqual([whole.status, whole.offset], [201, 2])
  assert.equal(await text("c"), "hi")
  await begin("empty", 0)
  assert.equal(await text("empty"), "")
})

test("bytes past the end of an upload are refused, and none is dropped in silence", async t => {
  const { begin, patch, tus, metadata, p, authorization, svc, bucket } = await tusWorld(t)
  const path = await begin("a", 4)
  assert.deepEqual((await patch(path, 0, Buffer.from("abcde"))).code, "payload_too_large")
  assert.equal((await tus("HEAD", path)).offset, 0)
  assert.equal((await patch(path, 0, Buffer.from("abcd"))).status, 204)
  const late = await patch(path, 4, Buffer.from("e"))
  assert.deepEqual([late.status, late.code], [413, "payload_too_large"])
  assert.equal((await patch(path, 4, Buffer.alloc(0))).status, 204)

  // Without a length, as it is sent in chunks.
  const unknown = await p.request(path, {
    method: "PATCH",
    headers: {
      ...{ authorization, "tus-resumable": "1.0.0", "upload-offset": "4" },
      "content-type": "application/offset+octet-stream",
    },
    body: new Blob(["e"]).stream(),
    duplex: "half",
  } as RequestInit)
  assert.equal(unknown.status, 413)
  const empty = { ...metadata("b"), "upload-length": "0", "content-type": "application/offset+octet-stream" }
  assert.equal((await tus("POST", UPLOADS, empty, "x")).status, 413)
  assert.equal(await (await svc.storage.getObject({ bucket, key: "a" })).text(), "abcd")
})

test("an upload of unknown length ends when its length is told", async t => {
  const { tus, metadata, patch, text } = await tusWorld(t)
  const begun = await tus("POST", UPLOADS, { ...metadata("a"), "upload-defer-length": "1" })
  const path = begun.header("location") ?? ""
  assert.equal((await tus("HEAD", path)).header("upload-defer-length"), "1")
  assert.equal((await patch(path, 0, Buffer.from("abc"))).offset, 3)
  assert.equal((await patch(path, 3, Buffer.from("def"), { "upload-length": "6" })).offset, 6)
  assert.equal(await text("a"), "abcdef")
})

test("bytes that do not have their checksum are not kept", async t => {
  const { tus, begin, patch, text } = await tusWorld(t)
  const path = await begin("a", 3)
  const sum = (of: string) => ({
    "upload-checksum": `sha1 ${createHash("sha1").update(of).digest("base64")}`,
  })
  const wrong = await patch(path, 0, Buffer.from("abc"), sum("other"))
  assert.deepEqual([wrong.status, wrong.code], [460, "upload_checksum_mismatch"])
  assert.equal((await tus("HEAD", path)).offset, 0)
  assert.equal((await patch(path, 0, Buffer.from("abc"), { "upload-checksum": "rot13 x" })).status, 400)
  assert.equal((await patch(path, 0, Buffer.from("abc"), sum("abc"))).offset, 3)
  assert.equal(await text("a"), "abc")
})

test("what arrived before a connection broke is kept; while one sends, another is told to wait", async t => {
  const { p, tus, begin, patch, authorization, text } = await tusWorld(t)
  const body = Buffer.from(bytesOf(20 * MIB))
  const path = await begin("a", body.length)
  const wire = await openWire(t, p.url)
  wire.send(
    requestBytes({
      method: "PATCH",
      path,
      headers: {
        authorization,
        "tus-resumable": "1.0.0",
        "content-type": "application/offset+octet-stream",
        "upload-offset": "0",
        "content-length": String(body.length),
      },
      body: "",
    }),
  )
  wire.send(body.subarray(0, 12 * MIB))
  // The first 8 MiB are on record before the rest is read.
  const received = async () => {
    const rows = await p.database.db.selectFrom("storage.uploads").select("received_bytes").execute()
    return rows[0]?.received_bytes ?? 0
  }
  for (const deadline = Date.now() + 60_000; (await received()) === 0; )
    assert.ok(Date.now() < deadline, "nothing is on record")
  assert.equal((await patch(path, 8 * MIB, body.subarray(0, 1))).code, "conflict")
  // Who asks where to go on has lost the connection that still seems to send.
  const { offset } = await tus("HEAD", path)
  assert.ok(offset !== null && offset >= 8 * MIB && offset <= 12 * MIB, `at ${offset}`)
  assert.equal((await patch(path, offset, body.subarray(offset))).offset, body.length)
  assert.equal(
    createHash("md5")
      .update(await text("a"), "utf8")
      .digest("hex").length,
    32,
  )
  assert.equal(
    await p.database.db
      .selectFrom("storage.objects")
      .select("size")
      .executeTakeFirstOrThrow()
      .then(({ size }) => size),
    body.length,
  )
})

test("an upload of another tenant is one that was never begun, and nonsense is refused", async t => {
  const { p, tus, begin, metadata } = await tusWorld(t)
  const path = await begin("a", 3)
  const { secret } = await p.key("globex", ["storage:read", "storage:write"])
  const stranger = { authorization: `Bearer ${secret}` }
  for (const method of ["HEAD", "DELETE"]) assert.equal((await tus(method, path, stranger)).status, 404)
  const begun = (headers: Record<string, string>) => tus("POST", UPLOADS, headers)
  assert.equal((await begun({ ...metadata("a") })).code, "invalid_parameter")
  assert.equal((await begun({ ...metadata("a"), "upload-length": "-1" })).code, "invalid_parameter")
  assert.equal((await begun({ "upload-length": "1" })).code, "invalid_parameter")
  assert.equal(
    (await begun({ "upload-length": "1", ...metadata("x".repeat(1025)) })).code,
    "invalid_parameter",
  )
  assert.equal(
    (await begun({ "upload-length": "1", "upload-metadata": `bucket ${base64("none")},key ${base64("a")}` }))
      .code,
    "bucket_not_found",
  )
  assert.equal((await tus("HEAD", path, { "tus-resumable": "0.2.2" })).status, 412)
})
