import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { createFrameScanner } from "./frames.ts"

const wanted = { Q: 16, Z: 1, S: 0, C: 5 }
type Seen = [type: string, payload: string]

const encode = (type: string, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(payload.length + 4, 1)
  return Buffer.concat([head, payload])
}

const messages = fc.array(
  fc.tuple(fc.constantFrom("Q", "Z", "S", "C", "d", "D"), fc.uint8Array({ maxLength: 60 })),
  { maxLength: 30 },
)

const expected = (sent: readonly [string, Uint8Array][]): Seen[] =>
  sent.flatMap(([type, payload]) => {
    const limit = (wanted as Record<string, number>)[type]
    return limit === undefined
      ? []
      : [[type, Buffer.from(payload.subarray(0, limit)).toString("latin1")] as Seen]
  })

const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [0, ...places.map(place => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

const collect = () => {
  const seen: Seen[] = []
  const scanner = createFrameScanner(wanted, (type, bytes, start, end) => {
    seen.push([String.fromCharCode(type), bytes.toString("latin1", start, end)])
  })
  return { seen, scanner }
}

test("the same messages are seen however the stream is cut", () => {
  fc.assert(
    fc.property(messages, fc.array(fc.nat(), { maxLength: 40 }), (sent, places) => {
      const { seen, scanner } = collect()
      for (const chunk of cut(Buffer.concat(sent.map(([type, payload]) => encode(type, payload))), places)) {
        scanner.push(chunk)
      }
      assert.deepEqual(seen, expected(sent))
      assert.equal(scanner.atBoundary, true)
    }),
    { numRuns: 500 },
  )
})

test("the same messages are seen byte by byte", () => {
  fc.assert(
    fc.property(messages, sent => {
      const { seen, scanner } = collect()
      for (const byte of Buffer.concat(sent.map(([type, payload]) => encode(type, payload)))) {
        scanner.push(Buffer.from([byte]))
      }
      assert.deepEqual(seen, expected(sent))
    }),
    { numRuns: 50 },
  )
})

test("a stream is at a boundary exactly between its messages", () => {
  const { scanner } = collect()
  const bytes = encode("Q", Buffer.from("select 1\0"))
  assert.equal(scanner.atBoundary, true)
  for (let at = 0; at < bytes.length; at++) {
    scanner.push(bytes.subarray(at, at + 1))
    assert.equal(scanner.atBoundary, at === bytes.length - 1)
  }
})

test("a stream that makes no sense is followed no further, and never throws", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }), chunks => {
      const { scanner } = collect()
      for (const chunk of chunks) scanner.push(Buffer.from(chunk))
    }),
  )
  const { seen, scanner } = collect()
  scanner.push(Buffer.from([0x51, 0, 0, 0, 3]))
  assert.equal(scanner.lost, true)
  scanner.push(encode("Z", Buffer.from("I")))
  assert.deepEqual(seen, [])
})
