import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { PortError } from "../../../../port-error.ts"
import {
  formatLsn,
  historyName,
  isSegmentSize,
  parseHistory,
  parseHistoryName,
  parseLsn,
  parseSegmentName,
  segmentAt,
  segmentName,
  segmentStart,
} from "./position.ts"

const position = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const segmentBytes = fc.integer({ min: 0, max: 10 }).map(power => 1024 ** 2 * 2 ** power)
const timeline = fc.integer({ min: 1, max: 0xffff_ffff })

test("a position survives being written and read, and keeps its order", () => {
  fc.assert(
    fc.property(position, at => {
      assert.equal(parseLsn(formatLsn(at)), at)
      assert.equal(parseLsn(formatLsn(at).toLowerCase()), at)
    }),
  )
  assert.equal(formatLsn(parseLsn("16/B374D848")), "16/B374D848")
  assert.equal(formatLsn(0n), "0/0")
})

test("a text that is no position is refused", () => {
  for (const text of ["", "0", "0/", "/0", "0/0/0", "0/G", "123456789/0", " 0/0", "0/0\n"])
    assert.throws(() => parseLsn(text), PortError, JSON.stringify(text))
})

test("a segment's name tells its timeline and number, for every size of segments", () => {
  fc.assert(
    fc.property(position, segmentBytes, timeline, (at, bytes, on) => {
      const number = segmentAt(at, bytes)
      const name = segmentName(on, number, bytes)
      assert.match(name, /^[0-9A-F]{24}$/)
      assert.deepEqual(parseSegmentName(name, bytes), { timeline: on, number })
      assert.ok(segmentStart(number, bytes) <= at && at < segmentStart(number + 1n, bytes))
    }),
  )
})

test("names of one timeline sort as their positions do, for every size of segments", () => {
  fc.assert(
    fc.property(position, position, segmentBytes, timeline, (a, b, bytes, on) => {
      const [first, second] = [segmentAt(a, bytes), segmentAt(b, bytes)]
      const [one, two] = [segmentName(on, first, bytes), segmentName(on, second, bytes)]
      assert.equal(one < two, first < second)
      assert.equal(one === two, first === second)
    }),
  )
})

test("names are those that PostgreSQL gives (pg_walfile_name)", () => {
  const name = (lsn: string, mb: number) =>
    segmentName(1, segmentAt(parseLsn(lsn), mb * 1024 ** 2), mb * 1024 ** 2)
  assert.equal(name("0/16B1A78", 16), "000000010000000000000001")
  assert.equal(name("0/FF000000", 16), "0000000100000000000000FF")
  assert.equal(name("1/0", 16), "000000010000000100000000")
  assert.equal(name("2/FFF00000", 1), "000000010000000200000FFF")
  assert.equal(name("2/C0000000", 1024), "000000010000000200000003")
})

test("a name that is not a segment's of that size is not taken for one", () => {
  const bytes = 16 * 1024 ** 2
  for (const name of [
    "000000010000000000000100",
    "00000001000000000000000a",
    "00000001000000000000001",
    "000000010000000000000001.partial",
    "00000002.history",
  ])
    assert.equal(parseSegmentName(name, bytes), undefined, name)
  assert.equal(parseSegmentName("000000010000000000000100", 1024 ** 2)?.number, 0x100n)
})

test("sizes of segments are powers of two from 1 MB to 1 GB", () => {
  fc.assert(fc.property(segmentBytes, isSegmentSize))
  for (const bytes of [0, 1024, 3 * 1024 ** 2, 2 * 1024 ** 3, 1.5]) assert.equal(isSegmentSize(bytes), false)
})

test("a history file tells where each ancestor ended", () => {
  const text =
    "1\t0/3000060\tno recovery target specified\n\n# a comment\n2\t16/B374D848\tbefore 2000-01-01\n"
  assert.deepEqual(parseHistory(text), [
    { timeline: 1, at: 0x3000060n },
    { timeline: 2, at: parseLsn("16/B374D848") },
  ])
  assert.deepEqual(parseHistory(""), [])
  assert.throws(() => parseHistory("1\tnowhere\treason\n"), PortError)
  fc.assert(fc.property(timeline, number => assert.equal(parseHistoryName(historyName(number)), number)))
})
