import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { startHashes } from "../../../ports/blob/hashes.ts"
import { type CrcName, combineCrcs } from "./crc-combination.ts"

const crcOf = (name: CrcName, bytes: Uint8Array): Buffer => {
  const hashes = startHashes([name])
  hashes.update(bytes)
  return hashes.digests().asked[name] ?? Buffer.alloc(0)
}

test("the check put together from those of the parts is that of the whole, wherever it is cut", () => {
  const names = fc.constantFrom<CrcName>("crc32", "crc32c", "crc64nvme")
  fc.assert(
    fc.property(
      names,
      fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 8 }),
      (name, arrays) => {
        const parts = arrays.map(array => ({ digest: crcOf(name, array), bytes: array.length }))
        assert.deepEqual(combineCrcs(name, parts), crcOf(name, Buffer.concat(arrays)))
      },
    ),
  )
})
