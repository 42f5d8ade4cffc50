/** The bytes of an object, as one stream from the blobs that it is made of. */
import { Readable } from "node:stream"
import { LRUCache } from "lru-cache"
import { piecesOf } from "../../kernel/byte-ranges.ts"
import type { BlobPort, ByteRange } from "../../ports/blob/port.ts"
import { callStore } from "./call-store.ts"
import type { Claims } from "./claims.ts"
import type { BlobPart } from "./store/rows.ts"

interface ReadingNeeds {
  readonly blob: BlobPort
  readonly claims: Claims
}

export type OpenParts = (
  owner: string,
  parts: readonly BlobPart[],
  chosen: ByteRange | "all",
) => Promise<Readable>

const SMALL_BYTES_MAX = 32 * 1024
const CACHED_BYTES_MAX = 16 * 1024 ** 2

/** Opens one piece after the other; what it holds cannot be collected meanwhile. */
async function* readPieces(
  { blob, claims }: ReadingNeeds,
  owner: string,
  pieces: ReturnType<typeof piecesOf<BlobPart>>,
): AsyncGenerator<Buffer> {
  using _held = await claims.hold(
    owner,
    pieces.map(({ part }) => part.address),
  )
  for (const { part, range } of pieces) {
    const body = await callStore(() => blob.read(owner, part.address, range))
    for await (const chunk of body) yield chunk as Buffer
  }
}

const streamOf = (bytes: Buffer): Readable => {
  const stream = new Readable({ read() {} })
  stream.push(bytes)
  stream.push(null)
  return stream
}

/**
 * Small blobs that were read of late stay in memory: no address ever has other bytes, so they cannot be outdated, and
 * whether the caller may see them was decided by the row that names them.
 */
const createSmallReader = (blob: BlobPort) => {
  const known = new LRUCache<string, Buffer>({
    maxSize: CACHED_BYTES_MAX,
    sizeCalculation: bytes => bytes.length,
  })
  return async (owner: string, { address, size }: BlobPart): Promise<Readable> => {
    const name = `${owner}/${address}`
    const cached = known.get(name)
    if (cached) return streamOf(cached)
    const body = await callStore(() => blob.read(owner, address, { start: 0, end: size - 1 }))
    if (body.readableLength !== size) return body
    const bytes = body.read(size) as Buffer
    known.set(name, bytes)
    return streamOf(bytes)
  }
}

export const createPartsReader = (needs: ReadingNeeds): OpenParts => {
  const readSmall = createSmallReader(needs.blob)

  return async (owner, parts, chosen) => {
    const [only, ...others] = parts
    const size = parts.reduce((sum, part) => sum + part.size, 0)
    if (!only || size === 0) return Readable.from([])
    const range = chosen === "all" ? { start: 0, end: size - 1 } : chosen
    if (others.length > 0)
      return Readable.from(
        readPieces(
          needs,
          owner,
          piecesOf(parts, ({ size }) => size, range),
        ),
        { objectMode: false },
      )
    const isWhole = range.start === 0 && range.end === size - 1
    if (isWhole && size <= SMALL_BYTES_MAX) return readSmall(owner, only)
    return callStore(() => needs.blob.read(owner, only.address, range))
  }
}
