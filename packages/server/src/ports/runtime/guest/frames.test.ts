import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { createFrameReader, type Frame, frameOf, readWords, words } from "./frames.ts"

const frames = fc.array(
  fc.record(
    {
      type: fc.integer({ min: 0, max: 255 }),
      channel: fc.integer({ min: 0, max: 0xffff_ffff }),
      payload: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 10 },
)

test("frames are read as they were sent, however the bytes are cut on the way", () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(({ type, channel, payload }) => frameOf(type, channel, payload)))
      const read: Frame[] = []
      const take = createFrameReader(frame => read.push(frame))
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const length = cuts[n % cuts.length] ?? 1
        take(bytes.subarray(at, at + length))
        at += length
      }
      assert.deepEqual(read, sent)
    }),
  )
})

test("whatever a workload sends, its frames are read or refused, and never waited for without bound", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), bytes => {
      const read = createFrameReader(({ payload }) => assert.ok(payload.length < 131_072))
      try {
        read(Buffer.from(bytes))
      } catch (error) {
        assert.ok(error instanceof RangeError)
      }
    }),
  )
  const refuse = () => createFrameReader(() => undefined)(Buffer.from("ffffffff0100000001", "hex"))
  assert.throws(refuse, RangeError)
})

test("texts come back as they were, and a length that leads out of them is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), texts => {
      assert.deepEqual(readWords(words(...texts)), texts)
    }),
  )
  assert.throws(() => readWords(Buffer.from("000000ff61", "hex")), RangeError)
  assert.throws(() => readWords(Buffer.from("0000", "hex")), RangeError)
})
