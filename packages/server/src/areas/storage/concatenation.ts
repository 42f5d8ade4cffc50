/** An object put together from partial uploads (the concatenation extension of tus), without copying a byte. */
import { OBJECT_BYTES_MAX, PARTS_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { assemble, toBlobParts } from "./multipart.ts"
import type { ObjectAttributes, Place } from "./object-store.ts"
import type { ObjectStoreNeeds } from "./object-store-needs.ts"
import { checkKey } from "./rules/names.ts"
import { putObject } from "./store/objects.ts"
import type { PartRow, UploadRow } from "./store/rows.ts"
import { queriesOn } from "./store/transaction.ts"
import * as rows from "./store/uploads.ts"

export interface FinalUpload extends ObjectAttributes {
  readonly bucket: string
  readonly key: string
  /** Ids of the partial uploads, in the order of their bytes. */
  readonly partials: readonly string[]
  /** `Upload-Concat` and `Upload-Metadata`, as they were sent. */
  readonly concatText: string
  readonly metadataText: string
  readonly now: Date
}

const checkPartial = (upload: UploadRow, now: Date): void => {
  if (upload.concat !== "partial" || upload.expires_at <= now) throw rows.uploadNotFound(upload.id)
  if (upload.received_bytes !== upload.length_bytes)
    throw fault("conflict", { reason: `the partial upload ${upload.id} is at byte ${upload.received_bytes}` })
}

/** The final upload and its object come, and the partial uploads go, together. */
export const concatenate = (needs: ObjectStoreNeeds, place: Place, final: FinalUpload): Promise<UploadRow> =>
  needs.database.transaction(async tx => {
    const { partials, now } = final
    const { projectId } = place
    checkKey(final.key)
    const db = queriesOn(tx)
    const upload = await rows.insertUpload(db, place, {
      ...final,
      ...{ kind: "resumable", checksumAlgorithm: null, checksumType: "composite", lengthBytes: null },
      concat: "final",
    })
    const found = await rows.lockUploads(db, projectId, partials)
    const parts: PartRow[] = []
    for (const id of partials) {
      const partial = found.get(id)
      if (!partial) throw rows.uploadNotFound(id)
      checkPartial(partial, now)
      parts.push(...(await rows.listParts(db, projectId, id, { after: 0, limit: PARTS_MAX })))
    }
    const assembled = assemble(upload, parts, now)
    if (assembled.size > OBJECT_BYTES_MAX || parts.length > PARTS_MAX)
      throw fault("invalid_parameter", { reason: "an object has at most 5 TiB and 10,000 parts" })
    const blobs = toBlobParts(parts)
    const object = await putObject(db, {
      ...{ projectId, object: assembled, parts: blobs, isPublished: false },
      numbered: parts.map(({ size, checksums }, at) => ({ number: at + 1, size, checksums })),
      // Partial uploads are not counted in the bucket.
      released: { addresses: blobs.map(({ address }) => address), bytes: 0 },
    })
    await rows.forgetUploads(db, projectId, partials)
    await rows.finishUpload(db, upload.id, object)
    await needs.objectEvents.created(tx, place, object)
    return { ...upload, length_bytes: object.size, received_bytes: object.size }
  })
