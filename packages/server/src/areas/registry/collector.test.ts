import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { digestOf, imageOf, MANIFEST, type RegistryWorld, registryWorld } from "./testing/world.ts"

const HOUR_MS = 3_600_000

/** How many files of the operator's data folder contain these bytes. */
const copiesOf = async ({ p }: RegistryWorld, text: string): Promise<number> => {
  const entries = await readdir(p.config.dataDir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const contents = await Promise.all(files.map(file => readFile(file).catch(() => Buffer.alloc(0))))
  return contents.filter(content => content.includes(text)).length
}

test("blobs that no manifest names are given back after a day, and their files after their readers' time; others stay", async t => {
  const world = await registryWorld(t)
  const { call, p, pushBlob, begin } = world
  const [kept, gone, loose, torn] = [
    "a layer that is kept",
    "a layer that goes",
    "a loose blob",
    "a torn upload",
  ]
  await world.pushImage("app", "kept", kept)
  const digest = await world.pushImage("app", "gone", gone)
  await world.pushImage("other", "gone", gone)
  await pushBlob("app", loose)
  await call("PATCH", `app/blobs/uploads/${await begin("app")}`, { body: torn })
  // The same bytes again take no room for long.
  await pushBlob("other", kept)
  await call("DELETE", `app/manifests/${digest}`)
  await p.clock.advance(20 * HOUR_MS)
  // Who is told that it is there relies on it.
  assert.equal((await call("HEAD", `app/blobs/${digestOf(loose)}`)).status, 200)
  await p.clock.advance(5 * HOUR_MS)
  assert.equal((await call("HEAD", `app/blobs/${digestOf(gone)}`)).status, 404)
  assert.equal(await (await call("GET", `other/blobs/${digestOf(gone)}`)).text(), gone)
  assert.equal(await (await call("GET", `app/blobs/${digestOf(loose)}`)).text(), loose)
  const { status } = await call("DELETE", `other/manifests/${digest}`)
  assert.equal(status, 202)
  for (const hours of [26, 7]) await p.clock.advance(hours * HOUR_MS)
  const copies = await Promise.all([kept, gone, loose, torn].map(text => copiesOf(world, text)))
  assert.deepEqual(copies, [1, 0, 0, 0])
  assert.equal(await (await call("GET", `app/blobs/${digestOf(kept)}`)).text(), kept)
})

test("a manifest that is accepted while the collector runs has all of its blobs", async t => {
  const { call, p, pushBlob } = await registryWorld(t)
  const config = "{}"
  for (let round = 0; round < 5; round++) {
    const layers = Array.from({ length: 8 }, () => randomBytes(200))
    await pushBlob("app", config)
    for (const layer of layers) await pushBlob("app", layer)
    const push = async (layer: Buffer, n: number) => {
      const body = JSON.stringify(imageOf(config, [layer]))
      const asked = { body, headers: { "content-type": MANIFEST } }
      const { status } = await call("PUT", `app/manifests/r${round}-${n}`, asked)
      // The blob may be gone already, and then the client sends it again.
      assert.ok(status === 201 || status === 400, `${status}`)
      if (status === 400) return 0
      assert.equal((await call("GET", `app/blobs/${digestOf(layer)}`)).status, 200)
      assert.equal((await call("GET", `app/blobs/${digestOf(config)}`)).status, 200)
      return 1
    }
    const collecting = p.clock.advance(25 * HOUR_MS)
    const pushed = await Promise.all(layers.map(push))
    await collecting
    for (const [n, layer] of layers.entries())
      if (pushed[n]) assert.equal((await call("GET", `app/blobs/${digestOf(layer)}`)).status, 200)
  }
})
