import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { folderOf, parseAddress, parseRemote } from "./address.ts"
import { pathInside } from "./download.ts"
import { sizeText } from "./progress.ts"

test("an address is a bucket's only when it says so", () => {
  assert.deepEqual(parseAddress("svc://photos/a/b c.jpg"), {
    kind: "remote",
    bucket: "photos",
    key: "a/b c.jpg",
  })
  assert.deepEqual(parseAddress("svc://photos"), { kind: "remote", bucket: "photos", key: "" })
  assert.deepEqual(parseAddress("photos/a"), { kind: "file", path: "photos/a" })
  assert.deepEqual(parseAddress("-"), { kind: "pipe" })
  assert.throws(() => parseAddress("svc:///a"), /names no bucket/)
  assert.throws(() => parseRemote("photos"), /expected svc:/)
})

test("a prefix of a folder takes no neighbour whose name begins the same", () => {
  assert.deepEqual(["", "photos", "photos/"].map(folderOf), ["", "photos/", "photos/"])
})

test("no key, whatever somebody stored, is written outside of the folder that was named", () => {
  const from = { kind: "remote", bucket: "b", key: "k" } as const
  assert.equal(pathInside("/tmp/x", "a/b", from), "/tmp/x/a/b")
  for (const key of ["../y", "a/../../y", "..", "/../y", "a/../..", "."])
    assert.throws(() => pathInside("/tmp/x", key, from), /outside/)
  const keys = fc.array(fc.constantFrom("..", ".", "a", "", "/", "\\", "x y"), { minLength: 1 })
  fc.assert(
    fc.property(keys, parts => {
      let path = "/tmp/x/inside"
      try {
        path = pathInside("/tmp/x", parts.join("/"), from)
      } catch {}
      assert.ok(path.startsWith("/tmp/x/"))
    }),
  )
})

test("sizes are told in units that a person reads", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 5 * 1024 ** 4].map(sizeText), [
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "5.0 TiB",
  ])
})
