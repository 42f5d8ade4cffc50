/** The bytes of an object, as one stream from the blobs that it is made of. */
import { Readable } from "node:stream"
import type { BlobPort, ByteRange } from "../../ports/blob/port.ts"
import type { Claims } from "./claims.ts"
import { piecesOf } from "./rules/ranges.ts"
import { served } from "./served.ts"
import type { BlobPart } from "./store/rows.ts"

interface ReadingNeeds {
  readonly blob: BlobPort
  readonly claims: Claims
}

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
    const body = await served(() => blob.read(owner, part.address, range))
    for await (const chunk of body) yield chunk as Buffer
  }
}

export const openParts = async (
  needs: ReadingNeeds,
  owner: string,
  parts: readonly BlobPart[],
  chosen: ByteRange | "all",
): Promise<Readable> => {
  const [only, ...others] = parts
  if (!only) return Readable.from([])
  if (others.length === 0) {
    const range = chosen === "all" ? undefined : chosen
    return await served(() => needs.blob.read(owner, only.address, range))
  }
  const size = parts.reduce((sum, part) => sum + part.size, 0)
  const pieces = piecesOf(parts, chosen === "all" ? { start: 0, end: size - 1 } : chosen)
  return Readable.from(readPieces(needs, owner, pieces), { objectMode: false })
}
