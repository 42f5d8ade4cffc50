/** Uploads of blobs: from the first byte to the last, over as many requests as it takes. */
import { createHash, type Hash } from "node:crypto"
import { REGISTRY_BLOB_BYTES_MAX } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { callBlobs } from "./call-blobs.ts"
import { readPieces } from "./reading.ts"
import { algorithmOf, digestOfAll } from "./rules/digests.ts"
import { addBlob, piecesOfStore } from "./store/blobs.ts"
import type { Place } from "./store/repositories.ts"
import * as rows from "./store/uploads.ts"

/** What of a request's body is on disk and on record before more of it is: that much is lost when the platform dies. */
const SEGMENT_BYTES = 32 * 1024 ** 2
/** Segments grow with what is there already, so that a large blob has hundreds of pieces and not thousands. */
const SEGMENT_SHARE = 50
/** Uploads whose hash is at hand. That of any other is computed from its pieces. */
const HASHES_MAX = 1_000

export interface UploadsNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly clock: Clock
}

export interface Uploads {
  find(place: Place, id: string): Promise<rows.Upload>
  /** Takes what comes until the body ends or breaks off, and tells where the upload is then. */
  append(place: Place, id: string, body: AsyncIterable<Uint8Array>, check?: CheckUpload): Promise<rows.Upload>
  /** Takes the last bytes and has the upload be the blob of this digest. */
  finish(
    place: Place,
    id: string,
    digest: string,
    body: AsyncIterable<Uint8Array>,
    check?: CheckUpload,
  ): Promise<rows.Upload>
  cancel(place: Place, id: string): Promise<void>
}

/** Throws where the request does not fit the upload as it is. */
export type CheckUpload = (upload: rows.Upload) => void

interface Reader {
  readonly chunks: AsyncIterator<Uint8Array>
  /** What was read and belongs to the next segment. */
  rest: Uint8Array | undefined
  isAtEnd: boolean
  /** Why its sender stopped early. */
  torn: unknown
}

const readerOf = (body: AsyncIterable<Uint8Array>): Reader => ({
  chunks: body[Symbol.asyncIterator](),
  rest: undefined,
  isAtEnd: false,
  torn: undefined,
})

const nextChunk = async (reader: Reader): Promise<Uint8Array | undefined> => {
  const { rest } = reader
  reader.rest = undefined
  if (rest) return rest
  try {
    const next = await reader.chunks.next()
    if (!next.done) return next.value
  } catch (error) {
    // What arrived before is kept, so that the sender can go on from there.
    reader.torn = isFault(error) ? error : fault("request_timeout", undefined, { internal: error })
  }
  reader.isAtEnd = true
  return undefined
}

/** The bytes of the next segment, which are hashed on the way. */
async function* takeSegment(reader: Reader, bytesMax: number, hash: Hash | undefined) {
  let left = bytesMax
  while (left > 0) {
    const chunk = await nextChunk(reader)
    if (chunk === undefined) return
    const taken = chunk.subarray(0, left)
    if (chunk.length > left) reader.rest = chunk.subarray(left)
    left -= taken.length
    hash?.update(taken)
    yield taken
  }
}

interface HashState {
  readonly received: number
  readonly hash: Hash
}

/** SHA-256 of what uploads have received, as far as this process has seen all of it. */
const createHashes = () => {
  const known = new Map<string, HashState>()
  return {
    /** For the bytes that follow; undefined where bytes before them were not seen. */
    take({ id, received_bytes: received }: rows.Upload): Hash | undefined {
      const state = known.get(id)
      known.delete(id)
      if (received === 0) return createHash("sha256")
      return state?.received === received ? state.hash : undefined
    },
    keep({ id, received_bytes: received }: rows.Upload, hash: Hash | undefined) {
      if (!hash) return
      const oldest = known.size >= HASHES_MAX ? known.keys().next().value : undefined
      if (oldest !== undefined) known.delete(oldest)
      known.set(id, { received, hash })
    },
    forget: (id: string) => void known.delete(id),
  }
}

export const createUploads = ({ database, blob, clock }: UploadsNeeds): Uploads => {
  const { db, transaction } = database
  const now = () => new Date(clock.now())
  const hashes = createHashes()
  /** Those that this process receives for. */
  const busy = new Set<string>()

  const alone = async <Result>(id: string, act: () => Promise<Result>): Promise<Result> => {
    if (busy.has(id)) throw fault("conflict", { reason: "another request sends to this upload" })
    busy.add(id)
    try {
      return await act()
    } finally {
      busy.delete(id)
    }
  }

  const receiveSegment = async (
    { projectId }: Place,
    upload: rows.Upload,
    reader: Reader,
  ): Promise<rows.Upload> => {
    const { id, received_bytes: received } = upload
    const room = REGISTRY_BLOB_BYTES_MAX - received
    const bytesMax = Math.min(room, Math.max(SEGMENT_BYTES, Math.floor(received / SEGMENT_SHARE)))
    if (bytesMax <= 0) throw fault("payload_too_large", { bytes: REGISTRY_BLOB_BYTES_MAX })
    const hash = hashes.take(upload)
    // The owner of a file is its upload: its bytes are shared with no other blob, whose removal could take them along.
    const staged = await callBlobs(() => blob.stage(id, takeSegment(reader, bytesMax, hash), { bytesMax }))
    if (staged.bytes === 0) {
      await staged.discard()
      hashes.keep(upload, hash)
      return upload
    }
    await callBlobs(() => staged.publish())
    const piece = { address: staged.address, bytes: staged.bytes }
    const after = await transaction(tx => rows.addPiece(tx, projectId, upload, piece, now()))
    hashes.keep(after, hash)
    return after
  }

  const receive = async (place: Place, upload: rows.Upload, body: AsyncIterable<Uint8Array>) => {
    const reader = readerOf(body)
    let at = upload
    while (!reader.isAtEnd) {
      // A body that ends with its segment would leave an empty one behind.
      reader.rest = await nextChunk(reader)
      if (reader.rest) at = await receiveSegment(place, at, reader)
    }
    if (reader.torn !== undefined) throw reader.torn
    return at
  }

  const digestOf = async (projectId: string, upload: rows.Upload, digest: string): Promise<string> => {
    const algorithm = algorithmOf(digest)
    const hash = algorithm === "sha256" ? hashes.take(upload) : undefined
    if (hash) return `sha256:${hash.digest("hex")}`
    const pieces = await piecesOfStore(db, projectId, upload.id)
    const all = pieces.map(part => ({ part, range: { start: 0, end: part.bytes - 1 } }))
    return digestOfAll(algorithm, readPieces(blob, upload.id, all))
  }

  const drop = async ({ projectId }: Place, id: string) => {
    hashes.forget(id)
    await transaction(tx => rows.dropUpload(tx, projectId, id, now()))
  }

  const complete = async (place: Place, upload: rows.Upload, digest: string) => {
    const { organizationId, projectId } = place
    const actual = await digestOf(projectId, upload, digest)
    hashes.forget(upload.id)
    if (actual !== digest) {
      await drop(place, upload.id)
      throw fault("digest_mismatch", { digest: actual })
    }
    await transaction(async tx => {
      await rows.takeUpload(tx, projectId, upload)
      const stored = { storeId: upload.id, bytes: upload.received_bytes, repositoryId: upload.repository_id }
      await addBlob(tx, { organizationId, projectId, digest, ...stored }, now())
    })
    return upload
  }

  const find = (place: Place, id: string) => rows.findUpload(db, place, id)

  return {
    find,
    append: (place, id, body, check) =>
      alone(id, async () => {
        const upload = await find(place, id)
        check?.(upload)
        return await receive(place, upload, body)
      }),
    finish: (place, id, digest, body, check) =>
      alone(id, async () => {
        const upload = await find(place, id)
        check?.(upload)
        return await complete(place, await receive(place, upload, body), digest)
      }),
    async cancel(place, id) {
      await find(place, id)
      await drop(place, id)
    },
  }
}
