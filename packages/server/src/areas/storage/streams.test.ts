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

test("an upload is taken as fast as it is stored, and never held whole", async t => {
  const { svc, bucket } = await storageWorld(t)
  const chunk = bytesOf(MIB)
  let made = 0
  let peak = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (made % 32 === 0) peak = Math.max(peak, heldBytes())
        made += 1
        if (made > 256) controller.close()
        else controller.enqueue(chunk.slice())
      },
    },
    { highWaterMark: 0 },
  )
  const before = heldBytes()
  const { size } = await svc.storage.putObject({ bucket, key: "large" }, { body })
  assert.equal(size, 256 * MIB)
  assert.ok(peak - before < 128 * MIB, `${Math.round((peak - before) / MIB)} MiB were held`)
  await svc.storage.deleteObject({ bucket, key: "large" })
})
