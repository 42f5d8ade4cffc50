/** Rows of storage.uploads and storage.parts. Every statement names the project first. */
import { isForeignKeyViolation } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import type { HashName } from "../../../ports/blob/port.ts"
import type { Checksums, ObjectAttributes, ObjectRecord, Place, Tags } from "../object-store.ts"
import type { CannedAcl } from "../rules/acl.ts"
import { successorOf } from "../rules/names.ts"
import { bucketNotFound, type Queries } from "./objects.ts"
import type { PartRow, UploadRow } from "./rows.ts"

/** An upload that nobody completes is given up after this time. */
const UPLOAD_LIFE_MS = 7 * 86_400_000

const COLUMNS = `upload.id, coalesce(bucket.name, '') AS bucket, upload.key, upload.kind, upload.concat,
  upload.concat_text, upload.http, upload.metadata,
  upload.checksum_algorithm, upload.checksum_type, upload.length_bytes, upload.received_bytes, upload.metadata_text,
  upload.tags, upload.acl, upload.created_at, upload.expires_at, upload.completed`

export const uploadNotFound = (id: string) => fault("upload_not_found", { id })

export interface NewUpload extends ObjectAttributes {
  readonly bucket: string
  readonly key: string
  readonly kind: "multipart" | "resumable"
  readonly checksumAlgorithm: HashName | null
  readonly checksumType: "full_object" | "composite"
  readonly lengthBytes: number | null
  readonly metadataText: string | null
  readonly concat?: "final"
  readonly concatText?: string
  readonly tags?: Tags
  readonly acl?: CannedAcl
  readonly now: Date
}

export const insertUpload = async (db: Queries, place: Place, upload: NewUpload): Promise<UploadRow> => {
  const inserted = db.query<UploadRow>(
    `WITH bucket AS MATERIALIZED (
      SELECT id, name, pg_advisory_xact_lock_shared(storage.bucket_lock($1, $2))
      FROM storage.buckets WHERE project_id = $1 AND name = $2
    ), upload AS (
      INSERT INTO storage.uploads (id, organization_id, project_id, bucket_id, key, kind, http, metadata,
        checksum_algorithm, checksum_type, length_bytes, received_bytes, metadata_text, created_at, expires_at, concat,
        concat_text, tags, acl)
      SELECT $3, $4, $1, bucket.id, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $14, $15, $16, $17, $18 FROM bucket
      RETURNING *
    )
    SELECT ${COLUMNS} FROM upload, bucket`,
    [
      ...[place.projectId, upload.bucket, newId(), place.organization.id, upload.key, upload.kind],
      ...[JSON.stringify(upload.http), JSON.stringify(upload.metadata)],
      ...[upload.checksumAlgorithm, upload.checksumType, upload.lengthBytes, upload.metadataText],
      ...[upload.now, new Date(upload.now.getTime() + UPLOAD_LIFE_MS)],
      ...[upload.concat ?? null, upload.concatText ?? null, JSON.stringify(upload.tags ?? {})],
      upload.acl ?? null,
    ],
  )
  const { rows } = await inserted.catch(error => {
    // The bucket was deleted while this waited for its lock.
    throw isForeignKeyViolation(error) ? bucketNotFound(upload.bucket) : error
  })
  if (!rows[0]) throw bucketNotFound(upload.bucket)
  return rows[0]
}

/** Throws `upload_not_found`. Completed ones are found too; `lock` keeps the row until the transaction ends. */
export const findUpload = async (
  db: Queries,
  projectId: string,
  id: string,
  lock: "lock" | "look" = "look",
): Promise<UploadRow> => {
  const { rows } = await db.query<UploadRow>(
    `SELECT ${COLUMNS} FROM storage.uploads AS upload LEFT JOIN storage.buckets AS bucket ON bucket.id = upload.bucket_id
    WHERE upload.project_id = $1 AND upload.id = $2 ${lock === "lock" ? "FOR UPDATE OF upload" : ""}`,
    [projectId, id],
  )
  if (!rows[0]) throw uploadNotFound(id)
  return rows[0]
}

/** An upload whose bytes become part of another one, which names the bucket. */
export const insertPartial = async (
  db: Queries,
  place: Place,
  { lengthBytes, metadataText, now }: Pick<NewUpload, "lengthBytes" | "metadataText" | "now">,
): Promise<UploadRow> => {
  const { rows } = await db.query<UploadRow>(
    `WITH upload AS (
      INSERT INTO storage.uploads (id, organization_id, project_id, key, kind, http, metadata, checksum_type,
        length_bytes, received_bytes, metadata_text, created_at, expires_at, concat)
      VALUES ($1, $2, $3, '', 'resumable', '{}', '{}', 'composite', $4, 0, $5, $6, $7, 'partial')
      RETURNING *
    )
    SELECT ${COLUMNS} FROM upload LEFT JOIN storage.buckets AS bucket ON bucket.id = upload.bucket_id`,
    [
      ...[newId(), place.organization.id, place.projectId, lengthBytes, metadataText],
      ...[now, new Date(now.getTime() + UPLOAD_LIFE_MS)],
    ],
  )
  const [row] = rows
  if (!row) throw new Error("an upload that was inserted is not there")
  return row
}

/** Those that are there, by id; nobody else changes them until the transaction ends. */
export const lockUploads = async (
  db: Queries,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, UploadRow>> => {
  const { rows } = await db.query<UploadRow>(
    `SELECT ${COLUMNS} FROM storage.uploads AS upload LEFT JOIN storage.buckets AS bucket ON bucket.id = upload.bucket_id
    WHERE upload.project_id = $1 AND upload.id = ANY ($2::uuid[]) ORDER BY upload.id FOR UPDATE OF upload`,
    [projectId, ids],
  )
  return new Map(rows.map(row => [row.id, row]))
}

/** On the transaction in which their parts went to an object. */
export const forgetUploads = async (
  db: Queries,
  projectId: string,
  ids: readonly string[],
): Promise<void> => {
  await db.query("DELETE FROM storage.uploads WHERE project_id = $1 AND id = ANY ($2::uuid[])", [
    projectId,
    ids,
  ])
}

export interface NewPart {
  readonly projectId: string
  readonly uploadId: string
  readonly number: number
  /** Where a resumable upload must be for this part to be its next. */
  readonly offset: number | null
  /** Null: it is empty. */
  readonly address: string | null
  readonly size: number
  readonly etag: string
  readonly checksums: Checksums
  readonly now: Date
}

export const putPart = async (db: Queries, part: NewPart): Promise<void> => {
  const { rows } = await db.query<{ outcome: string }>({
    name: "storage-put-part",
    text: "SELECT storage.put_part($1, $2, $3, $4, $5, $6, $7, $8, $9) AS outcome",
    values: [
      ...[part.projectId, part.uploadId, part.number, part.offset, part.address, part.size, part.etag],
      ...[JSON.stringify(part.checksums), part.now],
    ],
  })
  if (rows[0]?.outcome === "no_upload") throw uploadNotFound(part.uploadId)
  if (rows[0]?.outcome === "moved_on")
    throw fault("conflict", { reason: "the upload is not at this offset any more" })
}

export const listParts = async (
  db: Queries,
  projectId: string,
  uploadId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<PartRow[]> => {
  const { rows } = await db.query<PartRow>(
    `SELECT part.number, part.address, part.size, part.etag, part.checksums, part.last_modified
    FROM storage.uploads AS upload JOIN storage.parts AS part ON part.upload_id = upload.id
    WHERE upload.project_id = $1 AND upload.id = $2 AND part.number > $3 ORDER BY part.number LIMIT $4`,
    [projectId, uploadId, after, limit],
  )
  return rows
}

export const listUploads = async (
  db: Queries,
  projectId: string,
  bucket: string,
  page: {
    readonly prefix?: string
    readonly afterKey?: string
    readonly afterId?: string
    readonly limit: number
  },
): Promise<UploadRow[]> => {
  const { prefix = "", afterKey, afterId } = page
  const { rows } = await db.query<UploadRow & { readonly bucket_id: string }>(
    `SELECT bucket.id AS bucket_id, ${COLUMNS} FROM storage.buckets AS bucket
    LEFT JOIN LATERAL (
      SELECT * FROM storage.uploads AS upload
      WHERE upload.bucket_id = bucket.id AND upload.kind = 'multipart' AND upload.completed IS NULL
        AND upload.key >= $3 AND ($4::text IS NULL OR upload.key < $4 COLLATE "C")
        AND ($5::text IS NULL OR (upload.key, upload.id) > ($5 COLLATE "C", $6::uuid))
      ORDER BY upload.key, upload.id LIMIT $7
    ) AS upload ON true
    WHERE bucket.project_id = $1 AND bucket.name = $2 ORDER BY upload.key, upload.id`,
    [
      ...[projectId, bucket, prefix, (prefix !== "" && successorOf(prefix)) || null],
      // Without an id, all uploads of that key are passed over.
      ...[afterKey ?? null, afterId ?? "ffffffff-ffff-ffff-ffff-ffffffffffff", page.limit],
    ],
  )
  if (rows.length === 0) throw bucketNotFound(bucket)
  return rows.filter(({ id }) => id !== null)
}

/** On a transaction that holds the row: the parts now belong to the object. */
export const completeUpload = async (db: Queries, id: string, object: ObjectRecord): Promise<void> => {
  await db.query("DELETE FROM storage.parts WHERE upload_id = $1", [id])
  await db.query("UPDATE storage.uploads SET completed = $2 WHERE id = $1", [id, JSON.stringify(object)])
}

/** A final upload has all its bytes at once. */
export const finishUpload = async (db: Queries, id: string, object: ObjectRecord): Promise<void> => {
  await completeUpload(db, id, object)
  await db.query("UPDATE storage.uploads SET length_bytes = $2, received_bytes = $2 WHERE id = $1", [
    id,
    object.size,
  ])
}

export const setUploadLength = async (
  db: Queries,
  projectId: string,
  id: string,
  lengthBytes: number,
): Promise<void> => {
  await db.query(
    "UPDATE storage.uploads SET length_bytes = $3 WHERE project_id = $1 AND id = $2 AND length_bytes IS NULL",
    [projectId, id, lengthBytes],
  )
}

export const dropUpload = async (db: Queries, projectId: string, id: string, now: Date): Promise<void> => {
  const { rows } = await db.query<{ dropped: boolean }>("SELECT storage.drop_upload($1, $2, $3) AS dropped", [
    projectId,
    id,
    now,
  ])
  if (!rows[0]?.dropped) throw uploadNotFound(id)
}
