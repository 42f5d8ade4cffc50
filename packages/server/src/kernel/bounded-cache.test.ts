import assert from "node:assert/strict"
import { test } from "node:test"
import { createBoundedCache } from "./bounded-cache.ts"

test("the least recently used entry is forgotten first, and is handed over", () => {
  const forgotten: string[] = []
  const cache = createBoundedCache<string>(2, (value, key) => forgotten.push(`${key}=${value}`))
  cache.set("a", "1")
  cache.set("b", "2")
  cache.get("a")
  cache.set("c", "3")

  assert.deepEqual([...cache.keys()].sort(), ["a", "c"])
  assert.deepEqual(forgotten, ["b=2"])
})

test("a cache of many entries takes next to no memory while it is empty", () => {
  const before = process.memoryUsage()
  const caches = Array.from({ length: 50 }, () => createBoundedCache(100_000))
  const after = process.memoryUsage()

  assert.equal(caches.length, 50)
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  assert.ok(bytes < 2 ** 20, `${bytes} bytes`)
})
