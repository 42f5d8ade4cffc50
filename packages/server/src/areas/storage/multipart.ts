/** Uploads in parts that come in any order, by several senders, over days. */
import { OBJECT_BYTES_MAX, PARTS_MAX, PUT_BYTES_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { HashName } from "../../ports/blob/port.ts"
import type { Checksums, MultipartUploads, ObjectRecord, PartRecord, Place } from "./object-store.ts"
import type { ObjectStoreNeeds } from "./object-store-needs.ts"
import type { Receive } from "./receive.ts"
import type { CannedAcl } from "./rules/acl.ts"
import { checkAttributes } from "./rules/attributes.ts"
import { compositeChecksum, compositeEtag } from "./rules/checksums.ts"
import { combineCrcs, isCrc } from "./rules/crc-combination.ts"
import { checkKey } from "./rules/names.ts"
import { putObject } from "./store/objects.ts"
import {
  type BlobPart,
  type CompletedObject,
  type PartRow,
  toPart,
  toUpload,
  type UploadRow,
} from "./store/rows.ts"
import { queriesOn } from "./store/transaction.ts"
import * as rows from "./store/uploads.ts"

/** Of all parts but the last. S3's limit. */
const PART_BYTES_MIN = 5 * 1024 ** 2

const toCompleted = (object: CompletedObject): ObjectRecord => ({
  versionId: null,
  tags: {},
  ...object,
  lastModified: new Date(object.lastModified),
})

const open = (upload: UploadRow, kind: UploadRow["kind"], now: Date | undefined): UploadRow => {
  if (upload.kind !== kind || (now && upload.expires_at <= now)) throw rows.uploadNotFound(upload.id)
  return upload
}

type NamedPart = Parameters<MultipartUploads["complete"]>[1]["parts"][number]

const isAsNamed = (part: PartRow, { etag, checksums = {} }: NamedPart): boolean =>
  part.etag === etag.replaceAll('"', "") &&
  Object.entries(checksums).every(([name, sum]) => part.checksums[name as HashName] === sum)

/** The parts that the caller names, found as it names them. */
const chooseParts = (stored: readonly PartRow[], named: readonly NamedPart[]): PartRow[] => {
  if (named.some(({ number }, at) => number <= (named[at - 1]?.number ?? 0)))
    throw fault("invalid_parameter", { reason: "parts are not in the order of their numbers" })
  const byNumber = new Map(stored.map(part => [part.number, part]))
  return named.map((name, at) => {
    const part = byNumber.get(name.number)
    if (!part || !isAsNamed(part, name)) throw fault("upload_part_invalid", { number: name.number })
    if (part.size < PART_BYTES_MIN && at < named.length - 1)
      throw fault("upload_part_too_small", { number: name.number, bytes: PART_BYTES_MIN })
    return part
  })
}

const sizeOf = (parts: readonly { readonly size: number }[]): number =>
  parts.reduce((sum, { size }) => sum + size, 0)

const checksumsOf = (
  { checksum_algorithm: name, checksum_type: type }: UploadRow,
  parts: readonly PartRow[],
): Checksums => {
  const sums = name === null ? [] : parts.map(({ checksums }) => checksums[name] ?? "")
  if (name === null || sums.includes("")) return {}
  if (type === "composite" || !isCrc(name)) return { [name]: compositeChecksum(name, sums) }
  const digests = parts.map(({ size }, at) => ({
    digest: Buffer.from(sums[at] ?? "", "base64"),
    bytes: size,
  }))
  return { [name]: combineCrcs(name, digests).toString("base64") }
}

/** A composite checksum may come without the number of parts behind it. */
const checkWhole = (expected: Checksums, { checksums }: ObjectRecord): void => {
  for (const [name, sum] of Object.entries(expected) as [HashName, string][]) {
    const actual = checksums[name]
    if (actual !== sum && actual?.replace(/-\d+$/, "") !== sum)
      throw fault("checksum_mismatch", { algorithm: name })
  }
}

/** The object that an upload becomes. */
export const assemble = (upload: UploadRow, parts: readonly PartRow[], now: Date): ObjectRecord => ({
  bucket: upload.bucket,
  key: upload.key,
  size: sizeOf(parts),
  etag: compositeEtag(parts.map(({ etag }) => etag)),
  lastModified: now,
  http: upload.http,
  metadata: upload.metadata,
  checksums: checksumsOf(upload, parts),
  checksumType: upload.checksum_type,
  partCount: parts.length,
  versionId: null,
  tags: upload.tags,
  ...(upload.acl && { acl: upload.acl }),
})

export const toBlobParts = (parts: readonly PartRow[]): BlobPart[] =>
  parts.flatMap(({ address, size }) => (address === null ? [] : [{ address, size }]))

interface Completion {
  readonly place: Place
  readonly uploadId: string
  readonly kind: UploadRow["kind"]
  readonly now: Date
  readonly conditions?: NonNullable<Parameters<MultipartUploads["complete"]>[1]["conditions"]>
  readonly checksums?: Checksums
  choose(stored: readonly PartRow[], upload: UploadRow): readonly PartRow[]
}

/** Object, parts and upload change together; the bytes stay where they are. */
export const completeWith = (needs: ObjectStoreNeeds, completion: Completion): Promise<ObjectRecord> =>
  needs.database.transaction(async tx => {
    const { place, uploadId, kind, now, conditions, checksums = {}, choose } = completion
    const { projectId } = place
    const db = queriesOn(tx)
    const upload = open(await rows.findUpload(db, projectId, uploadId, "lock"), kind, undefined)
    if (upload.completed) return toCompleted(upload.completed)
    const stored = await rows.listParts(db, projectId, uploadId, { after: 0, limit: PARTS_MAX })
    const parts = choose(stored, upload)
    const assembled = assemble(upload, parts, now)
    checkWhole(checksums, assembled)
    if (assembled.size > OBJECT_BYTES_MAX)
      throw fault("invalid_parameter", { reason: "an object has at most 5 TiB" })
    const object = await putObject(db, {
      ...{ projectId, object: assembled, parts: toBlobParts(parts), conditions, isPublished: false },
      numbered: parts.map(({ number, size, checksums }) => ({ number, size, checksums })),
      released: { addresses: toBlobParts(stored).map(({ address }) => address), bytes: sizeOf(stored) },
    })
    await rows.completeUpload(db, uploadId, object)
    await needs.objectEvents.created(tx, place, object)
    return object
  })

/** Receives one part and commits its row, with a hand on the blob in between. */
export const createPartKeeper =
  ({ database: { pool }, claims, receive }: ObjectStoreNeeds) =>
  async (
    place: Parameters<Receive>[0],
    incoming: Parameters<Receive>[1],
    part: {
      readonly uploadId: string
      readonly number: number
      readonly offset: number | null
      readonly now: Date
    },
  ): Promise<{ readonly part: PartRecord; readonly torn: unknown }> => {
    const received = await receive(place, incoming)
    try {
      using _held = await claims.hold(
        place.projectId,
        received.parts.map(({ address }) => address),
      )
      await received.publish()
      const { size, etag, checksums } = received
      const stored = { number: part.number, size, etag, checksums }
      const { projectId } = place
      const { uploadId, offset, now } = part
      const address = received.parts[0]?.address ?? null
      await rows.putPart(pool, { ...stored, projectId, uploadId, offset, address, now })
      received.stored()
      return { part: { ...stored, lastModified: now }, torn: received.torn }
    } catch (error) {
      await received.discard()
      throw error
    }
  }

export const createMultipart = (
  needs: ObjectStoreNeeds,
  opened: (projectId: string, bucket: string, acl: CannedAcl | undefined) => Promise<void>,
): MultipartUploads => {
  const { pool } = needs.database
  const keepPart = createPartKeeper(needs)

  return {
    async create(place, upload) {
      checkKey(upload.key)
      await opened(place.projectId, upload.bucket, upload.acl)
      const row = await rows.insertUpload(pool, place, {
        ...upload,
        ...checkAttributes(upload),
        kind: "multipart",
        checksumAlgorithm: upload.checksumAlgorithm ?? null,
        checksumType: upload.checksumType ?? "composite",
        lengthBytes: null,
        metadataText: null,
      })
      return toUpload(row)
    },

    async find({ projectId }, uploadId) {
      return toUpload(open(await rows.findUpload(pool, projectId, uploadId), "multipart", undefined))
    },

    async putPart(place, part) {
      const found = await rows.findUpload(pool, place.projectId, part.uploadId)
      const upload = open(found, "multipart", part.now)
      if (upload.completed) throw rows.uploadNotFound(upload.id)
      const hashes = upload.checksum_algorithm === null ? [] : [upload.checksum_algorithm]
      const replaced = async () => {
        const page = { after: part.number - 1, limit: 1 }
        const [next] = await rows.listParts(pool, place.projectId, part.uploadId, page)
        return next?.number === part.number ? next.size : 0
      }
      const incoming = { ...part, bytesMax: PUT_BYTES_MAX, hashes, replaced }
      return (await keepPart(place, incoming, { ...part, offset: null })).part
    },

    async listParts({ projectId }, uploadId, { after, limit }) {
      const upload = open(await rows.findUpload(pool, projectId, uploadId), "multipart", undefined)
      if (upload.completed) throw rows.uploadNotFound(uploadId)
      const found = await rows.listParts(pool, projectId, uploadId, { after, limit: limit + 1 })
      return { parts: found.slice(0, limit).map(toPart), isTruncated: found.length > limit }
    },

    async list({ projectId }, bucket, page) {
      const found = await rows.listUploads(pool, projectId, bucket, { ...page, limit: page.limit + 1 })
      return { uploads: found.slice(0, page.limit).map(toUpload), isTruncated: found.length > page.limit }
    },

    complete: (place, { uploadId, parts, now, conditions, checksums }) =>
      completeWith(needs, {
        ...{ place, uploadId, kind: "multipart", now },
        ...(conditions && { conditions }),
        ...(checksums && { checksums }),
        choose: stored => chooseParts(stored, parts),
      }),

    async abort({ projectId }, uploadId) {
      const upload = open(await rows.findUpload(pool, projectId, uploadId), "multipart", undefined)
      if (upload.completed) throw rows.uploadNotFound(uploadId)
      await rows.dropUpload(pool, projectId, uploadId, new Date(needs.clock.now()))
    },
  }
}
