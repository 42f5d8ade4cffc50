/** What is set on buckets, read by every request that is not simply its owner's. Every statement names the project first. */
import { sql } from "kysely"
import type { Changes } from "../../../kernel/db/changes.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { BucketSettings, SettingsChange } from "../object-store.ts"
import type { CorsRule } from "../rules/cors.ts"
import { bucketNotFound } from "./objects.ts"

/** Of any bucket's settings, and of buckets that go: what is remembered of all of them is forgotten. */
export const BUCKET_TOPIC = "bucket"

export interface FoundSettings {
  readonly isPublic: boolean
  readonly settings: BucketSettings
}

export const findSettings = async (
  db: Db,
  projectId: string,
  name: string,
): Promise<FoundSettings | undefined> => {
  const row = await db
    .selectFrom("storage.buckets")
    .select(["is_public", "settings"])
    .where("project_id", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst()
  return row && { isPublic: row.is_public, settings: row.settings as BucketSettings }
}

/** A setting that is null is taken away. `opens`: others may do something there from now on. */
export const changeSettings = async (
  { db, changes }: { readonly db: Db; readonly changes: Changes },
  bucket: { readonly projectId: string; readonly name: string; readonly opens?: boolean },
  change: SettingsChange,
): Promise<void> => {
  const { projectId, name, opens = false } = bucket
  const { numAffectedRows = 0n } = await sql`
    UPDATE storage.buckets
    SET settings = jsonb_strip_nulls(settings || ${JSON.stringify(change)}::jsonb), is_open = is_open OR ${opens}
    WHERE project_id = ${projectId} AND name = ${name}`.execute(db)
  if (numAffectedRows === 0n) throw bucketNotFound(name)
  await changes.invalidate(db, BUCKET_TOPIC, projectId)
}

/** An object of it may be read by others; most buckets with such an object have been opened before. */
export const openBucket = async (db: Db, projectId: string, name: string): Promise<void> => {
  await db
    .updateTable("storage.buckets")
    .set({ is_open: true })
    .where("project_id", "=", projectId)
    .where("name", "=", name)
    .where("is_open", "=", false)
    .execute()
}

/** The rules of all buckets of that name: a preflight comes without credentials, and names no project. */
export const corsOfName = async (db: Db, name: string): Promise<readonly (readonly CorsRule[])[]> => {
  const { rows } = await sql<{ cors: readonly CorsRule[] }>`
    SELECT settings -> 'cors' AS cors FROM storage.buckets
    WHERE name = ${name} AND settings ? 'cors' LIMIT 100`.execute(db)
  return rows.map(({ cors }) => cors)
}
