/** The content of a request: taken out of its framing, counted, and held against every digest that came with it. */
import { createHash } from "node:crypto"
import { PUT_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import { isFault } from "../../../kernel/fault.ts"
import type { HashName } from "../../../ports/blob/port.ts"
import type { PutObject } from "../object-store.ts"
import { CHECKSUM_NAMES, type Digests, readDigest } from "../rules/checksums.ts"
import { decodeChunks } from "./chunks.ts"
import { s3Fault } from "./errors.ts"

export type ChecksumName = (typeof CHECKSUM_NAMES)[number]

export const checksumHeader = (name: ChecksumName): string => `x-amz-checksum-${name}`

/** What the headers say that the content's digests are. */
export const expectedDigests = ({ header }: Pick<Call, "header">): Digests => {
  const expected: Partial<Record<HashName, Buffer>> = {}
  const md5 = header("content-md5")
  if (md5 !== undefined) {
    const digest = readDigest("md5", md5)
    if (!digest) throw s3Fault("InvalidDigest")
    expected.md5 = digest
  }
  const sent = CHECKSUM_NAMES.filter(name => header(checksumHeader(name)) !== undefined)
  if (sent.length > 1) throw s3Fault("InvalidRequest", "only one checksum can be sent")
  for (const name of sent) {
    const digest = readDigest(name, header(checksumHeader(name)) ?? "")
    if (!digest) throw s3Fault("InvalidRequest", `${checksumHeader(name)} is not a digest of its kind`)
    expected[name] = digest
  }
  return expected
}

const announcedTrailer = ({ header }: Pick<Call, "header">): ChecksumName | undefined => {
  const trailer = header("x-amz-trailer")?.trim().toLowerCase()
  if (trailer === undefined || trailer === "") return undefined
  const name = CHECKSUM_NAMES.find(known => checksumHeader(known) === trailer)
  if (!name) throw s3Fault("InvalidRequest", "x-amz-trailer must name one checksum")
  return name
}

const parseLength = (text: string | undefined): number => {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw s3Fault("MissingContentLength")
  return Number(text)
}

/** Counts what passes, and compares its digest with the signed one. */
async function* checkWhole(
  source: AsyncIterable<Uint8Array>,
  size: number,
  sha256: string | undefined,
): AsyncGenerator<Uint8Array> {
  const digest = sha256 === undefined ? undefined : createHash("sha256")
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    digest?.update(chunk)
    yield chunk
  }
  if (bytes !== size) throw s3Fault("IncompleteBody")
  if (digest && digest.digest("hex") !== sha256) throw s3Fault("XAmzContentSHA256Mismatch")
}

/** A connection that breaks in the middle of a body is no fault of ours. */
async function* blameSender(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source
  } catch (error) {
    throw isFault(error) ? error : s3Fault("IncompleteBody", "the connection broke off")
  }
}

export type Payload = Required<Pick<PutObject, "source" | "size" | "expected">> & Pick<PutObject, "trailing">

const HEX = /^[0-9a-f]{64}$/

/** The content of the request, to be read once. Nothing of it has been read when this returns. */
export const openPayload = (call: Pick<Call, "header" | "signed" | "stream">): Payload => {
  const { header, signed } = call
  const mode = signed?.payloadHash ?? header("x-amz-content-sha256") ?? "UNSIGNED-PAYLOAD"
  const isChunked = mode.startsWith("STREAMING-")
  const size = parseLength(header(isChunked ? "x-amz-decoded-content-length" : "content-length"))
  if (size > PUT_BYTES_MAX) throw s3Fault("EntityTooLarge")
  const expected = expectedDigests(call)
  const source = blameSender(call.stream)
  if (!isChunked)
    return { source: checkWhole(source, size, HEX.test(mode) ? mode : undefined), size, expected }

  const isUnsigned = mode === "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
  if (!isUnsigned && !signed) throw s3Fault("InvalidRequest", "chunks are signed only in a signed request")
  const trailer = announcedTrailer(call)
  let digest: Buffer | undefined
  const decoded = decodeChunks(source, {
    size,
    hasTrailers: mode.endsWith("-TRAILER"),
    signed: isUnsigned ? null : signed,
    onTrailers(trailers) {
      const text = trailer && trailers.get(checksumHeader(trailer))
      digest = trailer && text !== undefined ? readDigest(trailer, text) : undefined
      if (trailers.size > 1 || (trailer !== undefined || trailers.size > 0) !== (digest !== undefined))
        throw s3Fault("MalformedTrailerError")
    },
  })
  return {
    source: decoded,
    size,
    expected,
    ...(trailer && {
      trailing: { hashes: [trailer], expected: () => (digest ? { [trailer]: digest } : {}) },
    }),
  }
}
