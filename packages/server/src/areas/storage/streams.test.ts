/** Bytes pass through; they do not pile up. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { openWire, requestBytes } from "../../testing/wire.ts"
import { bytesOf, storageWorld } from "./testing/world.ts"

const MIB = 1024 ** 2
const LARGE = 64 * MIB

test("a reader that stops reading makes the server stop reading too", async t => {
  const { p, svc, secret, bucket } = await storageWorld(t)
  await svc.storage.putObject({ bucket, key: "large" }, { body: new Uint8Array(LARGE) })
  const wire = await openWire(t, p.url)
  wire.socket.pause()
  wire.send(
    requestBytes({
      method: "GET",
      path: `/v1/storage/buckets/${bucket}/objects/large`,
      headers: { authorization: `Bearer ${secret}` },
    }),
  )
  const before = process.memoryUsage().arrayBuffers
  // Other readers come and go meanwhile, which takes longer than reading 64 MiB would.
  for (let n = 0; n < 50; n++) await svc.storage.headObject({ bucket, key: "large" })
  assert.ok(process.memoryUsage().arrayBuffers - before < LARGE / 4)
  // In this process are both ends of the connection, and their buffers.
  assert.ok(wire.socket.bytesRead < LARGE / 2, `${wire.socket.bytesRead} bytes were read`)
})

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

/** What is still in use: when garbage goes is the engine's affair. */
const heldBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

/** As many mebibytes as there are, and how many bytes were held at most while they were asked for. */
const watchedBody = (mebibytes: number) => {
  const chunk = bytesOf(MIB)
  const before = heldBytes()
  let made = 0
  let peak = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (made % 32 === 0) peak = Math.max(peak, heldBytes())
        made += 1
        if (made > mebibytes) controller.close()
        else controller.enqueue(chunk.slice())
      },
    },
    { highWaterMark: 0 },
  )
  return { body, heldMebibytes: () => Math.round((peak - before) / MIB) }
}

test("an upload is taken as fast as it is stored, and never held whole", async t => {
  const { svc, bucket } = await storageWorld(t)
  const { body, heldMebibytes } = watchedBody(256)
  const { size } = await svc.storage.putObject({ bucket, key: "large" }, { body })
  assert.equal(size, 256 * MIB)
  assert.ok(heldMebibytes() < 128, `${heldMebibytes()} MiB were held`)
  await svc.storage.deleteObject({ bucket, key: "large" })
})

test("a resumable upload that comes in one request is not held whole either", async t => {
  const { svc, bucket } = await storageWorld(t)
  const base64 = (text: string) => Buffer.from(text).toString("base64")
  const tus = { "tus-resumable": "1.0.0" }
  const metadata = `bucket ${base64(bucket)},key ${base64("large")}`
  const { upload_id } = await svc.storage.createUpload(
    {},
    { body: "", headers: { ...tus, "upload-length": String(256 * MIB), "upload-metadata": metadata } },
  )
  const { body, heldMebibytes } = watchedBody(256)
  const headers = { ...tus, "upload-offset": "0", "content-type": "application/offset+octet-stream" }
  await svc.storage.patchUpload({ upload_id }, { body, headers })
  const { data } = await svc.storage.listObjects({ bucket })
  assert.deepEqual(
    data.map(({ size }) => size),
    [256 * MIB],
  )
  assert.ok(heldMebibytes() < 128, `${heldMebibytes()} MiB were held`)
  await svc.storage.deleteObject({ bucket, key: "large" })
})
