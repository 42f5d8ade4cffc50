/** Resumable uploads: from the first byte to the last, over as many requests as it takes. */
import { OBJECT_BYTES_MAX, PUT_BYTES_MAX } from "@svc/contract"
import { fault, isFault } from "../../kernel/fault.ts"
import { concatenate, type FinalUpload } from "./concatenation.ts"
import { completeWith, createPartKeeper } from "./multipart.ts"
import type { ObjectAttributes, Place } from "./object-store.ts"
import type { ObjectStoreNeeds } from "./object-store-needs.ts"
import type { Digests } from "./rules/checksums.ts"
import { checkKey } from "./rules/names.ts"
import type { UploadRow } from "./store/rows.ts"
import * as rows from "./store/uploads.ts"

/** What of a request's body is on disk and on record before more of it is: that much is lost when the platform dies. */
const SEGMENT_BYTES = 8 * 1024 ** 2
/** Segments grow with what is there already, so that an upload of 5 TiB has a thousand parts and not a million. */
const SEGMENT_SHARE = 100

export interface Sending {
  readonly uploadId: string
  readonly source: AsyncIterable<Uint8Array>
  readonly offset: number
  /** Of the body; undefined where its sender does not say. */
  readonly sizeBytes?: number | undefined
  readonly now: Date
  /** Of all the bytes in this request; those of a request that fails it are not kept. */
  readonly checksum?: Digests | undefined
  /** The length, where it was not known before. */
  readonly lateLength?: number | undefined
}

export interface ResumableUploads {
  create(
    place: Place,
    upload: ObjectAttributes & {
      readonly bucket: string
      readonly key: string
      readonly lengthBytes: number | null
      readonly metadataText: string
      readonly now: Date
    },
  ): Promise<UploadRow>
  /** An upload that only becomes part of another one. */
  createPartial(
    place: Place,
    upload: { readonly lengthBytes: number | null; readonly metadataText: string; readonly now: Date },
  ): Promise<UploadRow>
  /** Makes an object of partial uploads, which are then gone. */
  concatenate(place: Place, final: FinalUpload): Promise<UploadRow>
  /** As it is. A request that is still sending, most likely over a dead connection, is ended first and its bytes kept. */
  find(place: Place, uploadId: string, now: Date): Promise<UploadRow>
  /** Takes what comes, until the body ends or breaks off, and tells where the upload is then. */
  send(place: Place, sending: Sending): Promise<UploadRow>
  drop(place: Place, uploadId: string, now: Date): Promise<void>
}

/** The next bytes of a source that somebody else goes on reading afterwards. */
async function* take(
  chunks: AsyncIterator<Uint8Array>,
  rest: { chunk: Uint8Array | undefined; isAtEnd: boolean },
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let left = bytesMax
  while (left > 0) {
    const next = rest.chunk ? { done: false, value: rest.chunk } : await chunks.next()
    rest.chunk = undefined
    if (next.done || !next.value) {
      rest.isAtEnd = true
      return
    }
    const chunk: Uint8Array = next.value
    if (chunk.length > left) rest.chunk = chunk.subarray(left)
    const taken = chunk.subarray(0, left)
    left -= taken.length
    yield taken
  }
}

const checkOffset = (upload: UploadRow, offset: number) => {
  if (upload.received_bytes !== offset)
    throw fault("conflict", { reason: `the upload is at byte ${upload.received_bytes}` })
}

const pastTheEnd = (upload: UploadRow, offset: number) =>
  fault("payload_too_large", { bytes: (upload.length_bytes ?? offset) - offset })

/** Bytes past the end belong to no object: whoever sends them is told, before they are read where that can be. */
const checkFits = (upload: UploadRow, { offset, sizeBytes = 0 }: Sending) => {
  if (upload.length_bytes !== null && offset + sizeBytes > upload.length_bytes)
    throw pastTheEnd(upload, offset)
}

/** Throws when anything comes, to an upload that has all its bytes. */
const checkEnds = async (upload: UploadRow, chunks: AsyncIterator<Uint8Array>, offset: number) => {
  for (let next = await chunks.next(); !next.done; next = await chunks.next())
    if (next.value.length > 0) throw pastTheEnd(upload, offset)
}

interface Running {
  readonly stop: () => void
  readonly ended: Promise<void>
}

/**
 * Ends a source early, as if its sender had hung up. No chunk is raced against one promise for all: that would hold
 * every one of them until the upload ends.
 */
const stoppable = (source: AsyncIterable<Uint8Array>) => {
  const chunks = source[Symbol.asyncIterator]()
  let isStopped = false
  let reject: (reason: unknown) => void = () => undefined
  const hangUp = () => reject(fault("request_timeout"))
  return {
    stop() {
      isStopped = true
      hangUp()
    },
    chunks: {
      next: () =>
        new Promise((resolve, rejectNext) => {
          reject = rejectNext
          if (isStopped) hangUp()
          else chunks.next().then(resolve, rejectNext)
        }),
    } satisfies AsyncIterator<Uint8Array>,
  }
}

export const createResumable = (needs: ObjectStoreNeeds): ResumableUploads => {
  const { pool } = needs.database
  const keepPart = createPartKeeper(needs)
  /** Those that this process receives for, by upload. */
  const running = new Map<string, Running>()

  const look = async (projectId: string, uploadId: string, now: Date): Promise<UploadRow> => {
    const upload = await rows.findUpload(pool, projectId, uploadId)
    if (upload.kind !== "resumable" || upload.expires_at <= now) throw rows.uploadNotFound(uploadId)
    return upload
  }

  /** One part of the upload. Without a checksum, what a sender that breaks off has sent is kept. */
  const receivePart = async (
    place: Place,
    upload: UploadRow,
    source: AsyncIterable<Uint8Array>,
    { checksum, now }: Sending,
  ) => {
    const offset = upload.received_bytes
    const { part, torn } = await keepPart(
      place,
      {
        source,
        bytesMax: Math.min(PUT_BYTES_MAX, (upload.length_bytes ?? OBJECT_BYTES_MAX) - offset),
        ...(checksum ? { expected: checksum } : { keepsTorn: true }),
      },
      { uploadId: upload.id, number: await nextNumber(upload), offset, now },
    ).catch(error => {
      throw isFault(error, "checksum_mismatch") ? fault("upload_checksum_mismatch") : error
    })
    return { upload: { ...upload, received_bytes: offset + part.size }, torn }
  }

  const nextNumber = async ({ id }: UploadRow): Promise<number> => {
    const { rows: found } = await pool.query<{ number: number }>(
      "SELECT coalesce(max(number), 0) + 1 AS number FROM storage.parts WHERE upload_id = $1",
      [id],
    )
    return found[0]?.number ?? 1
  }

  const receiveAll = async (
    place: Place,
    upload: UploadRow,
    chunks: AsyncIterator<Uint8Array>,
    sending: Sending,
  ): Promise<UploadRow> => {
    const rest: { chunk: Uint8Array | undefined; isAtEnd: boolean } = { chunk: undefined, isAtEnd: false }
    let at = upload
    while (!rest.isAtEnd) {
      const segment = Math.max(SEGMENT_BYTES, Math.floor(at.received_bytes / SEGMENT_SHARE))
      const before = at.received_bytes
      const source = take(chunks, rest, sending.checksum ? Number.POSITIVE_INFINITY : segment)
      const first = await source.next()
      if (first.done) break
      const received = await receivePart(place, at, prepend(first.value, source), sending)
      at = received.upload
      if (received.torn !== undefined) throw received.torn
      if (at.received_bytes === before) break
    }
    return at
  }

  const complete = async (place: Place, upload: UploadRow, now: Date): Promise<UploadRow> => {
    if (upload.concat === "partial") return upload
    if (upload.length_bytes === null || upload.received_bytes < upload.length_bytes) return upload
    await completeWith(needs, {
      ...{ place, uploadId: upload.id, kind: "resumable", now },
      choose: stored => stored,
    })
    return upload
  }

  const learnLength = async (place: Place, upload: UploadRow, length: number | undefined) => {
    if (length === undefined || length === upload.length_bytes) return upload
    if (upload.length_bytes !== null || length < upload.received_bytes || length > OBJECT_BYTES_MAX)
      throw fault("invalid_parameter", { reason: "upload-length is not that of this upload" })
    await rows.setUploadLength(pool, place.projectId, upload.id, length)
    return { ...upload, length_bytes: length }
  }

  return {
    async create(place, upload) {
      checkKey(upload.key)
      await needs.quota.admit(place.organization, upload.lengthBytes ?? 0)
      const row = await rows.insertUpload(pool, place, {
        ...upload,
        ...{ kind: "resumable", checksumAlgorithm: null, checksumType: "composite" },
      })
      return await complete(place, row, upload.now)
    },

    async createPartial(place, upload) {
      await needs.quota.admit(place.organization, upload.lengthBytes ?? 0)
      return await rows.insertPartial(pool, place, upload)
    },

    concatenate: (place, final) => concatenate(needs, place, final),

    async find({ projectId }, uploadId, now) {
      await look(projectId, uploadId, now)
      const sender = running.get(uploadId)
      sender?.stop()
      await sender?.ended
      return await look(projectId, uploadId, now)
    },

    async send(place, sending) {
      const { uploadId, offset, now } = sending
      const found = await look(place.projectId, uploadId, now)
      if (found.concat === "final") throw fault("upload_final")
      if (running.has(uploadId)) throw fault("conflict", { reason: "another request sends to this upload" })
      checkOffset(found, offset)
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const { chunks, stop } = stoppable(sending.source)
      running.set(uploadId, { stop, ended })
      try {
        const upload = await learnLength(place, found, sending.lateLength)
        checkFits(upload, sending)
        if (upload.completed) {
          await checkEnds(upload, chunks, offset)
          return upload
        }
        return await complete(place, await receiveAll(place, upload, chunks, sending), now)
      } finally {
        running.delete(uploadId)
        end()
      }
    },

    async drop(place, uploadId, now) {
      const upload = await look(place.projectId, uploadId, now)
      if (upload.completed) throw rows.uploadNotFound(uploadId)
      const sender = running.get(uploadId)
      sender?.stop()
      await sender?.ended
      await rows.dropUpload(pool, place.projectId, uploadId, now)
    },
  }
}

async function* prepend(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
