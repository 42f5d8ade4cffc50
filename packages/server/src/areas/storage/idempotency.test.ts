import assert from "node:assert/strict"
import { test } from "node:test"
import { uniqueName } from "../../testing/platform.ts"
import { bytesOf, storageWorld } from "./testing/world.ts"

const keyedWorld = async (t: Parameters<typeof storageWorld>[0]) => {
  const world = await storageWorld(t)
  return {
    ...world,
    async send(key: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
      const response = await world.fetch(key, {
        method: "PUT",
        body,
        headers: { "idempotency-key": "one", "content-type": "text/plain", ...headers },
      })
      const { code, data } = (await response.json()) as { code?: string; data?: { etag: string } }
      const isReplayed = response.headers.get("idempotent-replayed") === "true"
      return { status: response.status, code, isReplayed, etag: data?.etag }
    },
  }
}

test("an Idempotency-Key repeats an upload of the same bytes, and refuses other bytes of the same length", async t => {
  const { send, text } = await keyedWorld(t)

  const first = await send("note", "AAAA")
  assert.deepEqual([first.status, first.isReplayed], [200, false])
  const again = await send("note", "AAAA")
  assert.deepEqual([again.status, again.isReplayed, again.etag], [200, true, first.etag])
  const other = await send("note", "BBBB")
  assert.deepEqual([other.status, other.code], [400, "idempotency_key_mismatch"])
  assert.equal(await text("note"), "AAAA")
})

test("bytes are compared to the last one, however large the upload", async t => {
  const { send } = await keyedWorld(t)
  const bytes = bytesOf(3 * 1024 ** 2)
  assert.equal((await send("large", bytes)).status, 200)
  assert.ok((await send("large", bytes)).isReplayed)

  const other = bytes.slice()
  other[other.length - 1] = (other.at(-1) ?? 0) ^ 1
  assert.equal((await send("large", other)).code, "idempotency_key_mismatch")
})

test("an empty upload is not the upload of something", async t => {
  const { send } = await keyedWorld(t)
  assert.equal((await send("empty", "")).status, 200)
  assert.ok((await send("empty", "")).isReplayed)
  assert.equal((await send("empty", "x")).code, "idempotency_key_mismatch")
})

test("the same bytes with other metadata are another request", async t => {
  const { send } = await keyedWorld(t)
  assert.equal((await send("named", "AAAA", { "x-svc-meta-color": "red" })).status, 200)
  const other = await send("named", "AAAA", { "x-svc-meta-color": "blue" })
  assert.equal(other.code, "idempotency_key_mismatch")
})

test("an upload that was refused before its bytes were read leaves its Idempotency-Key free", async t => {
  const { p, svc, secret } = await keyedWorld(t)
  const bucket = uniqueName()
  const send = (body: string) =>
    p.request(`/v1/storage/buckets/${bucket}/objects/later`, {
      method: "PUT",
      body,
      headers: { authorization: `Bearer ${secret}`, "idempotency-key": "one" },
    })
  assert.equal((await send("AAAA")).status, 404)
  await svc.storage.createBucket({ name: bucket })
  assert.equal((await send("BBBB")).status, 200)
})

test("a part of an upload is compared by its bytes too", async t => {
  const { p, svc, bucket, secret } = await keyedWorld(t)
  const { upload_id } = await svc.storage.createMultipart({ bucket, key: "parts" })
  const send = (body: string) =>
    p.request(`/v1/storage/multipart/${upload_id}/parts/1`, {
      method: "PUT",
      body,
      headers: { authorization: `Bearer ${secret}`, "idempotency-key": "one" },
    })
  assert.equal((await send("AAAA")).status, 200)
  assert.equal((await send("AAAA")).headers.get("idempotent-replayed"), "true")
  assert.equal((await send("BBBB")).status, 400)
})
