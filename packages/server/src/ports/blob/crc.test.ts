import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { startCrc32c, startCrc64nvme } from "./crc.ts"

/** Bit by bit, as the catalogue defines it. */
const bitwise = (bits: bigint, polynomial: bigint, bytes: Uint8Array): string => {
  const ones = (1n << bits) - 1n
  let register = ones
  for (const byte of bytes) {
    register ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) register = (register >> 1n) ^ (register & 1n ? polynomial : 0n)
  }
  return (register ^ ones).toString(16).padStart(Number(bits / 4n), "0")
}

const checks = [
  { name: "CRC-32C", start: startCrc32c, bits: 32n, polynomial: 0x82f63b78n, check: "e3069283" },
  {
    name: "CRC-64/NVME",
    start: startCrc64nvme,
    bits: 64n,
    polynomial: 0x9a6c9329ac4bc9b5n,
    check: "ae8b14860a799888",
  },
]

for (const { name, start, bits, polynomial, check } of checks) {
  test(`${name} of the digits is the check value of the catalogue`, () => {
    const crc = start()
    crc.update(Buffer.from("123456789"))
    assert.equal(crc.digest().toString("hex"), check)
  })

  test(`${name} of any bytes in any chunks is what its definition says`, () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }), chunks => {
        const crc = start()
        for (const chunk of chunks) crc.update(chunk)
        assert.equal(crc.digest().toString("hex"), bitwise(bits, polynomial, Buffer.concat(chunks)))
      }),
    )
  })
}
