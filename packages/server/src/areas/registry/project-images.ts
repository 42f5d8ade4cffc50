/** The registry without its protocol, for other areas of this process. */
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import type { ProjectImages, RepositoryPlace } from "./offers.ts"
import { openBlob } from "./reading.ts"
import { digestOf } from "./rules/digests.ts"
import { readManifest } from "./rules/manifest.ts"
import { findBlob, touchBlob } from "./store/blobs.ts"
import { putManifest, readContent } from "./store/manifests.ts"
import { ensureRepository } from "./store/repositories.ts"
import { insertUpload } from "./store/uploads.ts"
import type { Uploads } from "./uploads.ts"

export interface ProjectImagesNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly clock: Clock
  readonly uploads: Uploads
}

/** What is not there is an answer. */
const orUndefined = async <Found>(find: Promise<Found>): Promise<Found | undefined> => {
  try {
    return await find
  } catch (error) {
    if (isFault(error) && (error.code === "manifest_not_found" || error.code === "blob_not_found"))
      return undefined
    throw error
  }
}

export const createProjectImages = (needs: ProjectImagesNeeds): ProjectImages => {
  const { database, blob, clock, uploads } = needs
  const { db, transaction } = database
  const now = () => new Date(clock.now())

  return {
    async manifest({ projectId, repository }, reference) {
      const row = await orUndefined(readContent(db, projectId, repository, reference))
      return row && { digest: row.digest, mediaType: row.media_type, content: row.content }
    },

    async hasBlob({ projectId, repository }, digest) {
      const row = await orUndefined(findBlob(db, { projectId, repository, digest }))
      if (!row) return false
      return await touchBlob(db, { projectId, repositoryId: row.repository_id, digest }, now())
    },

    async readBlob({ projectId, repository }, digest) {
      const { store_id: storeId, bytes } = await findBlob(db, { projectId, repository, digest })
      return await openBlob({ blob, db }, { projectId, storeId }, { start: 0, end: bytes - 1 })
    },

    async putBlob(place: RepositoryPlace, digest, bytes) {
      const { id } = await transaction(async tx =>
        insertUpload(tx, place, await ensureRepository(tx, place, now()), now()),
      )
      await uploads.finish(place, id, digest, bytes)
    },

    async putManifest(place, tag, mediaType, content) {
      const { projectId } = place
      const manifest = readManifest(content, mediaType)
      const digest = digestOf("sha256", content)
      await transaction(async tx => {
        const repositoryId = await ensureRepository(tx, place, now())
        await putManifest(tx, { projectId, repositoryId }, { digest, content, manifest, tag }, now())
      })
      return digest
    },
  }
}
