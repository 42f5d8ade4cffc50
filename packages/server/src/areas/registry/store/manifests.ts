/** Manifests and tags of repositories. Every statement names the project first. */
import { sql } from "kysely"
import type { Db, Tx } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { isDigest } from "../rules/digests.ts"
import type { Manifest } from "../rules/manifest.ts"

export interface ManifestRow {
  readonly digest: string
  readonly media_type: string
  readonly bytes: number
}

export interface RepositoryPlace {
  readonly projectId: string
  readonly repositoryId: string
}

export const manifestNotFound = (reference: string) => fault("manifest_not_found", { id: reference })

/** By tag or digest. */
const findBy = (projectId: string, repository: string, reference: string) =>
  isDigest(reference)
    ? sql`FROM registry.repositories AS repository
        JOIN registry.manifests AS manifest
          ON manifest.project_id = repository.project_id AND manifest.repository_id = repository.id
        WHERE repository.project_id = ${projectId} AND repository.name = ${repository}
          AND manifest.digest = ${reference}`
    : sql`FROM registry.repositories AS repository
        JOIN registry.tags AS tag ON tag.project_id = repository.project_id AND tag.repository_id = repository.id
        JOIN registry.manifests AS manifest
          ON manifest.project_id = tag.project_id AND manifest.repository_id = tag.repository_id
          AND manifest.digest = tag.digest
        WHERE repository.project_id = ${projectId} AND repository.name = ${repository} AND tag.name = ${reference}`

export const findManifest = async (
  db: Db,
  projectId: string,
  repository: string,
  reference: string,
): Promise<ManifestRow> => {
  const { rows } = await sql<ManifestRow>`
    SELECT manifest.digest, manifest.media_type, length(manifest.content) AS bytes
    ${findBy(projectId, repository, reference)}`.execute(db)
  const [row] = rows
  if (!row) throw manifestNotFound(reference)
  return row
}

export const readContent = async (
  db: Db,
  projectId: string,
  repository: string,
  reference: string,
): Promise<ManifestRow & { readonly content: Buffer }> => {
  const { rows } = await sql<ManifestRow & { content: Buffer }>`
    SELECT manifest.digest, manifest.media_type, length(manifest.content) AS bytes, manifest.content
    ${findBy(projectId, repository, reference)}`.execute(db)
  const [row] = rows
  if (!row) throw manifestNotFound(reference)
  return row
}

const unknown = (digest: string) => fault("manifest_blob_unknown", { digest })

/** Locks the blobs that the manifest names, in one order for all, and has the collector leave them alone. */
const holdBlobs = async (tx: Tx, place: RepositoryPlace, digests: readonly string[], now: Date) => {
  if (digests.length === 0) return
  const { projectId, repositoryId } = place
  const { rows } = await sql<{ digest: string }>`
    SELECT digest FROM registry.repository_blobs
    WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND digest = ANY (${digests}::text[])
    ORDER BY digest FOR UPDATE`.execute(tx)
  const known = new Set(rows.map(({ digest }) => digest))
  const missing = digests.find(digest => !known.has(digest))
  if (missing !== undefined) throw unknown(missing)
  // A collector that waits for these rows looks at them again once they have changed, not where they were only locked.
  await sql`
    UPDATE registry.repository_blobs SET touched_at = ${now}
    WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND digest = ANY (${digests}::text[])`.execute(
    tx,
  )
}

const checkManifests = async (tx: Tx, place: RepositoryPlace, digests: readonly string[]) => {
  if (digests.length === 0) return
  const { projectId, repositoryId } = place
  const { rows } = await sql<{ digest: string }>`
    SELECT digest FROM registry.manifests
    WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND digest = ANY (${digests}::text[])
    FOR KEY SHARE`.execute(tx)
  const known = new Set(rows.map(({ digest }) => digest))
  const missing = digests.find(digest => !known.has(digest))
  if (missing !== undefined) throw unknown(missing)
}

export interface NewManifest {
  readonly digest: string
  readonly content: Buffer
  readonly manifest: Manifest
  readonly tag: string | undefined
}

export const putManifest = async (tx: Tx, place: RepositoryPlace, given: NewManifest, now: Date) => {
  const { projectId, repositoryId } = place
  const { digest, content, manifest, tag } = given
  await holdBlobs(tx, place, manifest.blobs, now)
  await checkManifests(tx, place, manifest.manifests)
  await sql`
    INSERT INTO registry.manifests
      (project_id, repository_id, digest, media_type, content, artifact_type, subject, annotations, pushed_at)
    VALUES (${projectId}, ${repositoryId}, ${digest}, ${manifest.mediaType}, ${content},
      ${manifest.artifactType}, ${manifest.subject}, ${manifest.annotations}, ${now})
    ON CONFLICT (project_id, repository_id, digest)
    DO UPDATE SET media_type = excluded.media_type, pushed_at = excluded.pushed_at`.execute(tx)
  await sql`
    INSERT INTO registry.manifest_blobs (project_id, repository_id, manifest, digest)
    SELECT ${projectId}, ${repositoryId}, ${digest}, named FROM unnest(${manifest.blobs}::text[]) AS named
    ON CONFLICT DO NOTHING`.execute(tx)
  if (tag === undefined) return
  await sql`
    INSERT INTO registry.tags (project_id, repository_id, name, digest, updated_at)
    VALUES (${projectId}, ${repositoryId}, ${tag}, ${digest}, ${now})
    ON CONFLICT (project_id, repository_id, name)
    DO UPDATE SET digest = excluded.digest, updated_at = excluded.updated_at`.execute(tx)
}

/** The tag, or the manifest with all of its tags. False where there is none. */
export const deleteManifest = async (
  tx: Tx,
  { projectId, repositoryId }: RepositoryPlace,
  reference: string,
): Promise<boolean> => {
  const { numAffectedRows } = isDigest(reference)
    ? await sql`DELETE FROM registry.manifests
        WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND digest = ${reference}`.execute(
        tx,
      )
    : await sql`DELETE FROM registry.tags
        WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND name = ${reference}`.execute(
        tx,
      )
  return (numAffectedRows ?? 0n) > 0n
}

export interface Page {
  readonly last: string
  readonly limit: number
}

export const listTags = async (
  db: Db,
  { projectId, repositoryId }: RepositoryPlace,
  { last, limit }: Page,
): Promise<string[]> => {
  const rows = await db
    .selectFrom("registry.tags")
    .select("name")
    .where("project_id", "=", projectId)
    .where("repository_id", "=", repositoryId)
    .where("name", ">", last)
    .orderBy("name")
    .limit(limit)
    .execute()
  return rows.map(({ name }) => name)
}

export interface ReferrerRow extends ManifestRow {
  readonly artifact_type: string | null
  readonly annotations: string | null
}

/** In the order of their digests, and at most `charactersMax` of annotations beyond those of the first; whether there are more. */
export const listReferrers = async (
  db: Db,
  { projectId, repositoryId }: RepositoryPlace,
  asked: {
    readonly subject: string
    readonly artifactType: string | undefined
    readonly charactersMax: number
  },
  { last, limit }: Page,
): Promise<{ readonly rows: readonly ReferrerRow[]; readonly isCut: boolean }> => {
  const ofType = asked.artifactType === undefined ? sql`true` : sql`artifact_type = ${asked.artifactType}`
  const { rows } = await sql<ReferrerRow & { total: number }>`
    SELECT digest, media_type, bytes, artifact_type, annotations, total FROM (
      SELECT digest, media_type, length(content) AS bytes, artifact_type, annotations,
        sum(coalesce(length(annotations), 0)) OVER (ORDER BY digest) AS characters,
        row_number() OVER (ORDER BY digest) AS number, count(*) OVER () AS total
      FROM registry.manifests
      WHERE project_id = ${projectId} AND repository_id = ${repositoryId} AND subject = ${asked.subject}
        AND digest > ${last} AND ${ofType}
      ORDER BY digest LIMIT ${limit}
    ) AS found
    WHERE number = 1 OR characters <= ${asked.charactersMax}
    ORDER BY digest`.execute(db)
  return { rows, isCut: (rows[0]?.total ?? 0) > rows.length }
}
