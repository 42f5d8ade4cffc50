/** The bytes of a blob, as one stream from the pieces in which they came. */
import { Readable } from "node:stream"
import { piecesOf } from "../../kernel/byte-ranges.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { BlobPort, ByteRange } from "../../ports/blob/port.ts"
import { callBlobs } from "./call-blobs.ts"
import { type Piece, piecesOfStore } from "./store/blobs.ts"

export interface ReadingNeeds {
  readonly blob: BlobPort
  readonly db: Db
}

/** Opens one piece after the other. */
export async function* readPieces(
  blob: BlobPort,
  storeId: string,
  pieces: readonly { readonly part: Piece; readonly range: ByteRange }[],
): AsyncGenerator<Uint8Array> {
  for (const { part, range } of pieces) {
    const body = await callBlobs(() => blob.read(storeId, part.address, range))
    for await (const chunk of body) yield chunk as Uint8Array
  }
}

export const openBlob = async (
  { blob, db }: ReadingNeeds,
  { projectId, storeId }: { readonly projectId: string; readonly storeId: string },
  range: ByteRange,
): Promise<Readable> => {
  const pieces = piecesOf(await piecesOfStore(db, projectId, storeId), ({ bytes }) => bytes, range)
  const [only, ...others] = pieces
  if (!only) return Readable.from([])
  // The driver's own stream goes to the connection on a shorter way.
  if (others.length === 0) return callBlobs(() => blob.read(storeId, only.part.address, only.range))
  return Readable.from(readPieces(blob, storeId, pieces), { objectMode: false })
}
