/**
 * `aws-chunked`, the framing that S3's clients put around a body whose checksums come at its end: `10000;chunk-signature=…`,
 * the bytes, and at the end a chunk of none and trailing headers (S3 API reference, "Signature Calculations for the
 * Authorization Header: Transferring Payload in Multiple Chunks").
 */
import { createHash, hash } from "node:crypto"
import { isSameSignature, sign } from "../../../core/keys/sigv4.ts"
import type { SignedRequest } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import { s3Fault } from "./errors.ts"

const LINE_BYTES_MAX = 1024
const TRAILERS_MAX = 8
const CHUNK_HEAD = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/
const TRAILER = /^([0-9A-Za-z-]{1,128}):([\x20-\x7e]*)$/
const TRAILER_SIGNATURE = "x-amz-trailer-signature"

export interface Framing {
  /** Of the content, without its framing. */
  readonly size: number
  /** Whether headers follow the last chunk. */
  readonly hasTrailers: boolean
  /** What the signatures of the chunks are made with; null when they have none. */
  readonly signed: SignedRequest | null
  /** Takes the trailing headers, names in lower case. */
  readonly onTrailers: (trailers: ReadonlyMap<string, string>) => void
}

const broken = (reason: string) => s3Fault("IncompleteBody", reason)

/** Pulls lines and bytes from a stream, holding no more than what the stream gave last and an unfinished line. */
const createReader = (source: AsyncIterable<Uint8Array>) => {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  const more = async (): Promise<boolean> => {
    const { done, value } = await chunks.next()
    if (done) return false
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    return true
  }
  const need = async () => {
    if (!(await more())) throw broken("the body ended early")
  }

  return {
    async line(): Promise<string> {
      for (;;) {
        const end = rest.indexOf("\r\n")
        if (end > LINE_BYTES_MAX || (end < 0 && rest.length > LINE_BYTES_MAX + 1))
          throw broken("a line of the framing is too long")
        if (end >= 0) {
          const line = rest.toString("latin1", 0, end)
          rest = rest.subarray(end + 2)
          return line
        }
        await need()
      }
    },
    /** At least one byte and at most so many. */
    async bytes(max: number): Promise<Buffer> {
      while (rest.length === 0) await need()
      const piece = rest.subarray(0, max)
      rest = rest.subarray(piece.length)
      return piece
    },
    async end() {
      while (rest.length === 0 && (await more()));
      if (rest.length > 0) throw broken("something follows the last chunk")
    },
    close: () => chunks.return?.(),
  }
}

type Reader = ReturnType<typeof createReader>

/** Each signature covers the one before it, from that of the request on. */
const createChain = ({ signingKey, time, credentialScope, signature }: SignedRequest) => {
  const EMPTY = hash("sha256", "")
  let previous = signature
  const check = (kind: string, given: string | undefined, digests: readonly string[]) => {
    const expected = sign(signingKey, [
      `AWS4-HMAC-SHA256-${kind}`,
      time,
      credentialScope,
      previous,
      ...digests,
    ])
    if (given === undefined || !isSameSignature(expected, given)) throw fault("signature_invalid")
    previous = expected
  }
  return {
    chunk: (given: string | undefined, digest: string) => check("PAYLOAD", given, [EMPTY, digest]),
    trailers: (given: string | undefined, text: string) => check("TRAILER", given, [hash("sha256", text)]),
  }
}

const readTrailers = async (reader: Reader): Promise<Map<string, string>> => {
  const trailers = new Map<string, string>()
  // Some clients end a trailer with a line feed of its own.
  for (let line = (await reader.line()).trim(); line !== ""; line = (await reader.line()).trim()) {
    const [, name = "", value = ""] = TRAILER.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === "" || trailers.has(key) || trailers.size === TRAILERS_MAX)
      throw s3Fault("MalformedTrailerError")
    trailers.set(key, value.trim())
  }
  return trailers
}

/** The content of a body in that framing, as it comes. Throws when anything about it is not as announced. */
export async function* decodeChunks(
  source: AsyncIterable<Uint8Array>,
  { size, hasTrailers, signed, onTrailers }: Framing,
): AsyncGenerator<Buffer> {
  const reader = createReader(source)
  const chain = signed && createChain(signed)
  try {
    let left = size
    for (let isLast = false; !isLast; ) {
      const [head, digits = "", signature] = CHUNK_HEAD.exec(await reader.line()) ?? []
      if (head === undefined) throw broken("the head of a chunk is not valid")
      const length = Number.parseInt(digits, 16)
      isLast = length === 0
      if (length > left) throw broken("the body is longer than x-amz-decoded-content-length")
      left -= length
      const digest = chain && createHash("sha256")
      for (let wanted = length; wanted > 0; ) {
        const piece = await reader.bytes(wanted)
        wanted -= piece.length
        digest?.update(piece)
        yield piece
      }
      if (digest) chain?.chunk(signature, digest.digest("hex"))
      if (!isLast && (await reader.line()) !== "") throw broken("a chunk is longer than its head says")
    }
    if (left > 0) throw broken("the body is shorter than x-amz-decoded-content-length")
    const trailers = await readTrailers(reader)
    if (trailers.size > 0 && !hasTrailers) throw s3Fault("MalformedTrailerError")
    const signature = trailers.get(TRAILER_SIGNATURE)
    trailers.delete(TRAILER_SIGNATURE)
    if (hasTrailers)
      chain?.trailers(signature, [...trailers].map(([name, value]) => `${name}:${value}\n`).join(""))
    await reader.end()
    onTrailers(trailers)
  } finally {
    await reader.close()
  }
}
