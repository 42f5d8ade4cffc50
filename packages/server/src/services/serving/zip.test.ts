import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { zipOf } from "./testing/zip.ts"
import { isSafePath, readZip, ZipError } from "./zip.ts"

const LIMITS = { entriesMax: 100, bytesMax: 1_000_000 }
const refused = (archive: Buffer, why: RegExp, limits = LIMITS) =>
  assert.throws(
    () => readZip(archive, limits),
    error => error instanceof ZipError && why.test(error.message),
  )

test("files of an archive come with path, content and whether they are programs, folders and comments are passed over", () => {
  const read = readZip(
    zipOf(
      [
        { path: "lib/", content: "" },
        { path: "lib/a.js", content: "a".repeat(5_000), mode: 0o100755 },
        { path: "b.txt", content: "stored", stored: true },
        { path: "empty", content: "" },
      ],
      "a comment",
    ),
    LIMITS,
  )
  assert.deepEqual(
    read.map(({ path, content, isExecutable }) => [path, content.length, isExecutable]),
    [
      ["lib/a.js", 5_000, true],
      ["b.txt", 6, false],
      ["empty", 0, false],
    ],
  )
})

test("no path leaves the folder, hides, or means another on another system", () => {
  const bad = [
    "../a",
    "/a",
    "a/../../b",
    "a/./b",
    "a//b",
    "a\\b",
    "C:\\a",
    "a\0b",
    "a\nb",
    "..",
    ".",
    "a/..",
    `${"x/".repeat(40)}y`,
  ]
  for (const path of bad) {
    assert.equal(isSafePath(path), false, path)
    refused(zipOf([{ path, content: "x" }]), /not allowed|regular/)
  }
  refused(
    zipOf([
      { path: "a", content: "x" },
      { path: "a", content: "y" },
    ]),
    /twice/,
  )
})

test("links, devices and encrypted files are refused", () => {
  for (const mode of [0o120777, 0o020666, 0o010644, 0o140755])
    refused(zipOf([{ path: "a", content: "/etc/passwd", mode }]), /not a regular file/)
  refused(zipOf([{ path: "a", content: "x", flags: 1 }]), /encrypted/)
  refused(zipOf([{ path: "a", content: "x", method: 12 }]), /not known/)
})

test("an archive that unpacks to more than it may, or lies about it, is refused before it is unpacked", () => {
  refused(zipOf([{ path: "a", content: "0".repeat(1_000_001) }]), /more than 1000000 bytes/)
  refused(zipOf([{ path: "a", content: "0".repeat(900_000), size: 10 }]), /larger than it says/)
  refused(zipOf([{ path: "a", content: "short", size: 900_000 }]), /smaller than it says/)
  refused(zipOf([{ path: "a", content: "x", crc: 1 }]), /damaged/)
  const many = Array.from({ length: 101 }, (_, at) => ({ path: `${at}`, content: "" }))
  refused(zipOf(many), /more than 100 entries/)
})

test("entries that share their bytes are refused", () => {
  const content = "x".repeat(3_000)
  const entries = Array.from({ length: 20 }, (_, at) => ({ path: `${at}`, content, stored: true, at: 0 }))
  refused(zipOf(entries), /overlap/)
})

test("whatever bytes are sent, reading them ends with files or a refusal", () => {
  const good = zipOf([{ path: "index.js", content: "export const handler = () => 1".repeat(10) }])
  const check = (archive: Buffer) => {
    try {
      for (const { path } of readZip(archive, LIMITS)) assert.ok(isSafePath(path))
    } catch (error) {
      assert.ok(error instanceof ZipError, String(error))
    }
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), bytes => check(Buffer.from(bytes))))
  const changes = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(changes, fc.nat(good.length), (places, length) => {
      const spoiled = Buffer.from(good)
      for (const [at, value] of places) spoiled[at] = value
      check(spoiled)
      check(good.subarray(0, length))
    }),
    { numRuns: 1_000 },
  )
})
