/** Bodies as S3's clients send them, with the documented examples of AWS, and as they must not be. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { test } from "node:test"
import { crc32 } from "node:zlib"
import fc from "fast-check"
import { signingKeyOf } from "../../../core/keys/sigv4.ts"
import type { SignedRequest } from "../../../kernel/call.ts"
import { isFault } from "../../../kernel/fault.ts"
import { openPayload } from "./payload.ts"

const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
const credentialScope = "20130524/us-east-1/s3/aws4_request"

const signedAs = (payloadHash: string, signature: string): SignedRequest => ({
  ...{ signingKey: signingKeyOf(SECRET, credentialScope), credentialScope, payloadHash, signature },
  time: "20130524T000000Z",
})

interface Sent {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly signed?: SignedRequest | null
  /** Bytes that arrive together. */
  readonly pieceBytes?: number
}

const pieces = function* (body: Buffer, bytes: number) {
  for (let at = 0; at < body.length; at += bytes) yield body.subarray(at, at + bytes)
}

const receive = async ({ body, headers, signed = null, pieceBytes = 65_536 }: Sent) => {
  const payload = openPayload({
    signed,
    header: name => headers[name],
    stream: Readable.from(pieces(body, pieceBytes)),
  })
  const content = Buffer.concat(await Array.fromAsync(payload.source))
  return { content, expected: payload.expected, trailing: payload.trailing?.expected() }
}

/** The fault with which a body is refused, as S3 calls it where only S3 has a name for it. */
const refusal = async (sent: Sent): Promise<string> => {
  try {
    await receive(sent)
  } catch (error) {
    if (!isFault(error)) throw error
    return (error.details.body as { s3: { code: string } } | undefined)?.s3.code ?? error.code
  }
  return assert.fail("it was taken")
}

const chunk = (bytes: Buffer, signature?: string) =>
  Buffer.concat([
    Buffer.from(bytes.length.toString(16) + (signature ? `;chunk-signature=${signature}` : "")),
    ...[Buffer.from("\r\n"), bytes],
    Buffer.from(bytes.length > 0 ? "\r\n" : ""),
  ])

const CONTENT = Buffer.alloc(66_560, "a")
const first = CONTENT.subarray(0, 65_536)
const second = CONTENT.subarray(65_536)
const none = Buffer.alloc(0)

/** "Transferring Payload in Multiple Chunks", with signatures. */
const signedExample: Sent = {
  body: Buffer.concat([
    chunk(first, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
    chunk(second, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
    chunk(none, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
    Buffer.from("\r\n"),
  ]),
  headers: { "x-amz-decoded-content-length": "66560" },
  signed: signedAs(
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
  ),
}

/** The same with a trailing checksum, which is signed as well. */
const trailerExample: Sent = {
  body: Buffer.concat([
    chunk(first, "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2"),
    chunk(second, "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7"),
    chunk(none, "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"),
    Buffer.from("x-amz-checksum-crc32c:sOO8/Q==\r\n"),
    Buffer.from(
      "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
    ),
  ]),
  headers: { "x-amz-decoded-content-length": "66560", "x-amz-trailer": "x-amz-checksum-crc32c" },
  signed: signedAs(
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
  ),
}

test("AWS's example of signed chunks is understood, in whatever pieces it arrives", async () => {
  for (const pieceBytes of [1, 7, 1000, 100_000])
    assert.ok((await receive({ ...signedExample, pieceBytes })).content.equals(CONTENT))
})

test("AWS's example of a signed trailing checksum is understood", async () => {
  const { content, trailing } = await receive(trailerExample)
  assert.ok(content.equals(CONTENT))
  assert.deepEqual(trailing, { crc32c: Buffer.from("sOO8/Q==", "base64") })
})

const replaced = (sent: Sent, from: string, to: string): Sent => ({
  ...sent,
  body: Buffer.from(sent.body.toString("latin1").replace(from, to), "latin1"),
})

test("a signed chunk that was changed, moved or left out is refused, and so is a changed trailer", async () => {
  const { body } = signedExample
  const zero = body.indexOf("\r\n0;") + 2
  for (const bad of [
    replaced(signedExample, "aaaa", "aaab"),
    replaced(signedExample, "ad80c7", "ad80c8"),
    replaced(
      signedExample,
      ";chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
      "",
    ),
    replaced(trailerExample, "sOO8/Q==", "sOO8/A=="),
    replaced(trailerExample, "x-amz-trailer-signature:d", "x-amz-trailer-signature:e"),
    { ...signedExample, signed: trailerExample.signed ?? null },
  ])
    assert.equal(await refusal(bad), "signature_invalid")
  const shorter = {
    ...signedExample,
    body: body.subarray(zero),
    headers: { "x-amz-decoded-content-length": "0" },
  }
  assert.equal(await refusal(shorter), "signature_invalid")
  assert.equal(await refusal({ ...signedExample, body: body.subarray(0, zero) }), "IncompleteBody")
})

const crcOf = (content: Buffer): Buffer => {
  const digest = Buffer.alloc(4)
  digest.writeUInt32BE(crc32(content))
  return digest
}

const unsigned = (
  chunks: readonly Buffer[],
  trailers: string,
  headers: Record<string, string> = {},
): Sent => ({
  body: Buffer.concat([...chunks.map(bytes => chunk(bytes)), Buffer.from(`0\r\n${trailers}\r\n`)]),
  headers: {
    "x-amz-decoded-content-length": String(chunks.reduce((sum, { length }) => sum + length, 0)),
    "x-amz-trailer": "x-amz-checksum-crc32",
    ...headers,
  },
  signed: signedAs("STREAMING-UNSIGNED-PAYLOAD-TRAILER", "0".repeat(64)),
})

test("any content survives any cutting into chunks and packets, and its checksum is handed on", async () => {
  const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 1, max: 400 }), async (arrays, pieceBytes) => {
      const chunks = arrays.map(array => Buffer.from(array))
      const content = Buffer.concat(chunks)
      const trailer = `x-amz-checksum-crc32:${crcOf(content).toString("base64")}\r\n`
      const got = await receive({ ...unsigned(chunks, trailer), pieceBytes })
      assert.ok(got.content.equals(content))
      assert.deepEqual(got.trailing, { crc32: crcOf(content) })
    }),
  )
})

test("a framing that is not what its headers announce is refused", async () => {
  const content = Buffer.from("hello")
  const good = `x-amz-checksum-crc32:${crcOf(content).toString("base64")}\r\n`
  const cases: [string, Sent][] = [
    ["IncompleteBody", unsigned([content], good, { "x-amz-decoded-content-length": "4" })],
    ["IncompleteBody", unsigned([content], good, { "x-amz-decoded-content-length": "6" })],
    ["IncompleteBody", unsigned([content], `${good}\r\nmore`)],
    ["IncompleteBody", replaced(unsigned([content], good), "5\r\n", "4\r\n")],
    ["IncompleteBody", replaced(unsigned([content], good), "5\r\n", "x\r\n")],
    ["IncompleteBody", replaced(unsigned([content], good), "5\r\n", `${"0".repeat(2000)}5\r\n`)],
    ["IncompleteBody", { ...unsigned([content], good), body: Buffer.from("5\r\nhel") }],
    ["MalformedTrailerError", unsigned([content], "")],
    ["MalformedTrailerError", unsigned([content], "x-amz-checksum-crc32:short\r\n")],
    ["MalformedTrailerError", unsigned([content], `${good}${good}`)],
    ["MalformedTrailerError", unsigned([content], `${good}x-amz-checksum-sha1:1\r\n`)],
    ["MalformedTrailerError", unsigned([content], "no trailer\r\n")],
    ["MalformedTrailerError", unsigned([content], good, { "x-amz-trailer": "" })],
    ["InvalidRequest", unsigned([content], good, { "x-amz-trailer": "x-amz-meta-a" })],
    ["MissingContentLength", unsigned([content], good, { "x-amz-decoded-content-length": "five" })],
  ]
  for (const [code, sent] of cases) assert.equal(await refusal(sent), code, JSON.stringify(sent.headers))
})

test("a body whose digest was signed is that body and no other", async () => {
  const body = Buffer.from("hello")
  const headers = { "content-length": "5" }
  const signed = signedAs(createHash("sha256").update(body).digest("hex"), "0".repeat(64))
  assert.equal((await receive({ body, headers, signed })).content.toString(), "hello")
  const other = Buffer.from("hullo")
  assert.equal(await refusal({ body: other, headers, signed }), "XAmzContentSHA256Mismatch")
  assert.equal(await refusal({ body, headers: {}, signed }), "MissingContentLength")
  assert.equal(await refusal({ body, headers: { "content-length": "6" }, signed }), "IncompleteBody")
})

test("digests in headers are read, and refused where they are none or too many", async () => {
  const body = Buffer.from("hello")
  const md5 = createHash("md5").update(body).digest()
  const headers = { "content-length": "5", "content-md5": md5.toString("base64") }
  assert.deepEqual((await receive({ body, headers })).expected, { md5 })
  assert.equal(await refusal({ body, headers: { ...headers, "content-md5": "none" } }), "InvalidDigest")
  const crc = { "x-amz-checksum-crc32": crcOf(body).toString("base64") }
  assert.deepEqual((await receive({ body, headers: { "content-length": "5", ...crc } })).expected, {
    crc32: crcOf(body),
  })
  const both = { ...headers, ...crc, "x-amz-checksum-sha1": "1" }
  assert.equal(await refusal({ body, headers: both }), "InvalidRequest")
  assert.equal(
    await refusal({ body, headers: { ...headers, "x-amz-checksum-crc32": "AA==" } }),
    "InvalidRequest",
  )
})

test("an object sent at once has at most 5 GiB, which is known before anything of it is read", async () => {
  const headers = { "content-length": String(5 * 1024 ** 3 + 1) }
  assert.equal(await refusal({ body: none, headers }), "EntityTooLarge")
})
