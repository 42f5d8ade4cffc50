/** Blobs of a project and the repositories that have them. Every statement names the project first. */
import { sql } from "kysely"
import type { Db, Tx } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"

export interface BlobPlace {
  readonly projectId: string
  readonly repository: string
  readonly digest: string
}

export interface BlobRow {
  readonly repository_id: string
  readonly store_id: string
  readonly bytes: number
  readonly touched_at: Date
}

export interface Piece {
  readonly address: string
  readonly bytes: number
}

export const blobNotFound = (digest: string) => fault("blob_not_found", { id: digest })

/** The blob, where the repository has it. */
export const findBlob = async (db: Db, { projectId, repository, digest }: BlobPlace): Promise<BlobRow> => {
  const { rows } = await sql<BlobRow>`
    SELECT link.repository_id, blob.store_id, blob.bytes, link.touched_at
    FROM registry.repositories AS repository
    JOIN registry.repository_blobs AS link
      ON link.project_id = repository.project_id AND link.repository_id = repository.id
    JOIN registry.blobs AS blob ON blob.project_id = link.project_id AND blob.digest = link.digest
    WHERE repository.project_id = ${projectId} AND repository.name = ${repository}
      AND link.digest = ${digest}`.execute(db)
  const [row] = rows
  if (!row) throw blobNotFound(digest)
  return row
}

/** Who was told that a blob is there relies on it for some time, and sends no bytes of it. False where it just went. */
export const touchBlob = async (
  db: Db,
  { projectId, repositoryId, digest }: { projectId: string; repositoryId: string; digest: string },
  now: Date,
): Promise<boolean> => {
  const { numUpdatedRows } = await db
    .updateTable("registry.repository_blobs")
    .set({ touched_at: now })
    .where("project_id", "=", projectId)
    .where("repository_id", "=", repositoryId)
    .where("digest", "=", digest)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export const piecesOfStore = async (db: Db, projectId: string, storeId: string): Promise<Piece[]> =>
  await db
    .selectFrom("registry.pieces")
    .select(["address", "bytes"])
    .where("project_id", "=", projectId)
    .where("store_id", "=", storeId)
    .orderBy("number")
    .execute()

/** Makes the blob one of the repository. The row of the blob is locked already, so that it cannot go meanwhile. */
const link = async (tx: Tx, projectId: string, repositoryId: string, digest: string, now: Date) => {
  await sql`
    INSERT INTO registry.repository_blobs (project_id, repository_id, digest, touched_at)
    VALUES (${projectId}, ${repositoryId}, ${digest}, ${now})
    ON CONFLICT (project_id, repository_id, digest) DO UPDATE SET touched_at = excluded.touched_at`.execute(
    tx,
  )
}

/** Pieces that nobody needs: the collector removes them. */
export const release = async (tx: Db, projectId: string, storeId: string, now: Date) => {
  await sql`
    INSERT INTO registry.garbage (project_id, store_id, released_at) VALUES (${projectId}, ${storeId}, ${now})
    ON CONFLICT DO NOTHING`.execute(tx)
}

/** Has what was uploaded be a blob of the repository. Where the project has these bytes already, those stay. */
export const addBlob = async (
  tx: Tx,
  blob: {
    readonly organizationId: string
    readonly projectId: string
    readonly repositoryId: string
    readonly digest: string
    readonly storeId: string
    readonly bytes: number
  },
  now: Date,
): Promise<void> => {
  const { organizationId, projectId, repositoryId, digest, storeId, bytes } = blob
  const { rows } = await sql<{ store_id: string }>`
    INSERT INTO registry.blobs (organization_id, project_id, digest, store_id, bytes, touched_at)
    VALUES (${organizationId}, ${projectId}, ${digest}, ${storeId}, ${bytes}, ${now})
    ON CONFLICT (project_id, digest) DO UPDATE SET touched_at = excluded.touched_at
    RETURNING store_id`.execute(tx)
  if (rows[0]?.store_id !== storeId) await release(tx, projectId, storeId, now)
  await link(tx, projectId, repositoryId, digest, now)
}

/** False where the other repository does not have the blob. */
export const mountBlob = async (
  tx: Tx,
  { projectId, repository: from, digest }: BlobPlace,
  repositoryId: string,
  now: Date,
): Promise<boolean> => {
  const { rows } = await sql`
    SELECT FROM registry.repositories AS repository
    JOIN registry.repository_blobs AS link
      ON link.project_id = repository.project_id AND link.repository_id = repository.id
    JOIN registry.blobs AS blob ON blob.project_id = link.project_id AND blob.digest = link.digest
    WHERE repository.project_id = ${projectId} AND repository.name = ${from} AND link.digest = ${digest}
    FOR KEY SHARE OF blob`.execute(tx)
  if (rows.length === 0) return false
  await link(tx, projectId, repositoryId, digest, now)
  return true
}

/** Takes the blob from the repository; bytes that no repository has are collected later. */
export const unlinkBlob = async (tx: Tx, place: BlobPlace): Promise<void> => {
  const { projectId, digest } = place
  const { repository_id } = await findBlob(tx, place)
  // Locked, so that no manifest that names it is pushed meanwhile.
  await sql`
    SELECT FROM registry.repository_blobs
    WHERE project_id = ${projectId} AND repository_id = ${repository_id} AND digest = ${digest}
    FOR UPDATE`.execute(tx)
  const { rows } = await sql`
    SELECT FROM registry.manifest_blobs
    WHERE project_id = ${projectId} AND repository_id = ${repository_id} AND digest = ${digest} LIMIT 1`.execute(
    tx,
  )
  if (rows.length > 0) throw fault("blob_in_use")
  const { numDeletedRows } = await tx
    .deleteFrom("registry.repository_blobs")
    .where("project_id", "=", projectId)
    .where("repository_id", "=", repository_id)
    .where("digest", "=", digest)
    .executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) throw blobNotFound(digest)
}
