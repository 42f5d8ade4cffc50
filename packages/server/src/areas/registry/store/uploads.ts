/** Uploads under way. Every statement names the project first. */
import { REGISTRY_UPLOADS_MAX } from "@svc/contract"
import { sql } from "kysely"
import type { Db, Tx } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import { release } from "./blobs.ts"
import type { Place } from "./repositories.ts"

export interface Upload {
  readonly id: string
  readonly repository_id: string
  readonly received_bytes: number
}

export const uploadNotFound = (id: string) => fault("image_upload_not_found", { id })

const movedOn = (received: number) => fault("conflict", { reason: `the upload is at byte ${received} now` })

export const insertUpload = async (
  tx: Tx,
  { projectId }: Place,
  repositoryId: string,
  now: Date,
): Promise<Upload> => {
  const { rows: counted } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM registry.uploads WHERE project_id = ${projectId}`.execute(tx)
  if ((counted[0]?.count ?? 0) >= REGISTRY_UPLOADS_MAX)
    throw fault("plan_limit_reached", {
      limit: REGISTRY_UPLOADS_MAX,
      resources: "uploads to the registry under way a project",
    })
  const upload = { id: newId(now.getTime()), repository_id: repositoryId, received_bytes: 0 }
  await tx
    .insertInto("registry.uploads")
    .values({ project_id: projectId, ...upload, touched_at: now })
    .execute()
  return upload
}

export const findUpload = async (
  db: Db,
  { projectId, repository }: Pick<Place, "projectId" | "repository">,
  id: string,
): Promise<Upload> => {
  const row = await db
    .selectFrom("registry.uploads as upload")
    .innerJoin("registry.repositories as repository", join =>
      join
        .onRef("repository.project_id", "=", "upload.project_id")
        .onRef("repository.id", "=", "upload.repository_id"),
    )
    .select(["upload.id", "upload.repository_id", "upload.received_bytes"])
    .where("upload.project_id", "=", projectId)
    .where("upload.id", "=", id)
    .where("repository.name", "=", repository)
    .executeTakeFirst()
  if (!row) throw uploadNotFound(id)
  return row
}

/** Notes that the next piece is there. Of two senders, in whichever processes, one is told that it came too late. */
export const addPiece = async (
  tx: Tx,
  projectId: string,
  upload: Upload,
  piece: { readonly address: string; readonly bytes: number },
  now: Date,
): Promise<Upload> => {
  const received = upload.received_bytes + piece.bytes
  const { numUpdatedRows } = await tx
    .updateTable("registry.uploads")
    .set({ received_bytes: received, touched_at: now })
    .where("project_id", "=", projectId)
    .where("id", "=", upload.id)
    .where("received_bytes", "=", upload.received_bytes)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) throw movedOn(received)
  await sql`
    INSERT INTO registry.pieces (project_id, store_id, number, address, bytes)
    SELECT ${projectId}, ${upload.id}, coalesce(max(number), 0) + 1, ${piece.address}, ${piece.bytes}
    FROM registry.pieces WHERE project_id = ${projectId} AND store_id = ${upload.id}`.execute(tx)
  return { ...upload, received_bytes: received }
}

/** Ends the upload as it is, for what it has become. */
export const takeUpload = async (tx: Tx, projectId: string, upload: Upload): Promise<void> => {
  const row = await tx
    .deleteFrom("registry.uploads")
    .where("project_id", "=", projectId)
    .where("id", "=", upload.id)
    .returning("received_bytes")
    .executeTakeFirst()
  if (!row) throw uploadNotFound(upload.id)
  if (row.received_bytes !== upload.received_bytes) throw movedOn(row.received_bytes)
}

export const dropUpload = async (tx: Tx, projectId: string, id: string, now: Date): Promise<void> => {
  const { numDeletedRows } = await tx
    .deleteFrom("registry.uploads")
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) throw uploadNotFound(id)
  await release(tx, projectId, id, now)
}
