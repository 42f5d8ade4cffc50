import assert from "node:assert/strict"
import { test } from "node:test"
import { coversRange, ownersInRange } from "./id-range.ts"

test("a range of users exists only where every one of them is mapped", () => {
  const everywhere = "         0          0 4294967295\n"
  assert.equal(coversRange(everywhere, 200_000, 100_000), true)
  assert.equal(coversRange(everywhere, 4_294_967_290, 10), false)
  const rootless = "0 1000 1\n1 100000 65536\n"
  assert.equal(coversRange(rootless, 200_000, 1), false)
  assert.equal(coversRange(rootless, 0, 65_537), true)
  assert.equal(coversRange(rootless, 0, 65_538), false)
  assert.equal(coversRange("10 0 5\n0 0 5\n", 0, 15), false, "a gap in the middle")
  assert.equal(coversRange("10 0 5\n0 0 10\n", 0, 15), true, "in any order")
  assert.equal(coversRange("", 0, 1), false)
})

test("users whom the machine already gave an id of the range are named", () => {
  const passwd = "root:x:0:0::/root:/bin/sh\nada:x:200007:200007::/home/ada:/bin/sh\n"
  const subuid = "grace:165536:65536\nlinus:100000:65536\n"
  assert.deepEqual(ownersInRange({ passwd, subuid }, 200_000, 100_000), ["ada", "grace"])
  assert.deepEqual(ownersInRange({ passwd, subuid }, 300_000, 100_000), [])
  assert.deepEqual(ownersInRange({ passwd: "", subuid: "" }, 200_000, 10), [])
})
