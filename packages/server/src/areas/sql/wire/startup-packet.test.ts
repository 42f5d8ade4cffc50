import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { WireRefusal } from "./error-response.ts"
import {
  encodeCancel,
  encodeStartup,
  encodeTlsRequest,
  parseStartup,
  STARTUP_BYTES_MAX,
  startupLength,
} from "./startup-packet.ts"

const V3_0 = 0x0003_0000
const V3_2 = 0x0003_0002

const head = (length: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(length)
  return bytes
}

const latin1 = (minLength: number) =>
  fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength, maxLength: 20 })
    .map(bytes => Buffer.from(bytes).toString("latin1"))

test("what is encoded is read back byte for byte", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(latin1(1), latin1(0)), { maxLength: 12 }),
      fc.constantFrom(V3_0, V3_2),
      (pairs, protocol) => {
        const parameters = new Map(pairs)
        const packet = encodeStartup(protocol, parameters)
        assert.equal(startupLength(packet), packet.length)
        assert.deepEqual(parseStartup(packet), { kind: "startup", protocol, parameters })
      },
    ),
  )
})

test("any bytes are either a packet or refused, and never anything else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 64 }), fc.boolean(), (bytes, valid) => {
      const packet = Buffer.concat([
        head(bytes.length + 4),
        valid ? Buffer.from([0, 3, 0, 0]) : Buffer.alloc(0),
        bytes,
      ])
      try {
        parseStartup(packet)
      } catch (error) {
        assert.ok(error instanceof WireRefusal)
      }
    }),
  )
})

test("a name that comes twice goes on once, with its last value", () => {
  const packet = Buffer.concat([
    head(4 + 4 + 12 + 16 + 1),
    Buffer.from([0, 3, 0, 0]),
    Buffer.from("user\0owner1\0user\0svc_reader\0\0"),
  ])
  const parsed = parseStartup(packet)
  assert.ok(parsed.kind === "startup")
  assert.deepEqual([...parsed.parameters], [["user", "svc_reader"]])
})

test("lengths beyond PostgreSQL's bound, and those of no packet, are none", () => {
  assert.equal(startupLength(head(STARTUP_BYTES_MAX)), STARTUP_BYTES_MAX)
  for (const length of [STARTUP_BYTES_MAX + 1, 7, 0, -1, 0x47455420]) {
    assert.equal(startupLength(head(length)), undefined)
  }
})

test("a packet without its end, or with something behind it, is refused", () => {
  for (const text of ["user\0owner\0", "user\0owner", "user\0owner\0\0x", "user\0"]) {
    const packet = Buffer.concat([head(8 + text.length), Buffer.from([0, 3, 0, 0]), Buffer.from(text)])
    assert.throws(() => parseStartup(packet), { sqlstate: "08P01" })
  }
})

test("other versions of the protocol are refused by name", () => {
  assert.throws(() => parseStartup(encodeStartup(0x0002_0000, new Map())), {
    sqlstate: "0A000",
    message: /^unsupported frontend protocol 2\.0/,
  })
})

test("keys of four bytes and of up to 256 can cancel, others are refused", () => {
  for (const bytes of [4, 32, 256]) {
    const key = "\x00\x00\x01\xff".concat("\xfe".repeat(bytes))
    assert.deepEqual(parseStartup(encodeCancel(key)), { kind: "cancel", key })
  }
  for (const bytes of [0, 257]) {
    assert.throws(() => parseStartup(encodeCancel("\0".repeat(4 + bytes))), { sqlstate: "08P01" })
  }
  assert.deepEqual(parseStartup(encodeTlsRequest()), { kind: "tls" })
})
