/** The keys that sign URLs: some of each project, sealed in the database, opened once and kept. */
import { randomBytes } from "node:crypto"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Db } from "../../kernel/db/database.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import type { Place } from "./object-store.ts"

const KEY_BYTES = 32
const CACHED_MAX = 10_000
/** A key signs for this long and verifies for as long as what it signed may live. */
const SIGNS_MS = 90 * 86_400_000

export interface SigningKey {
  readonly id: string
  readonly organizationId: string
  readonly projectId: string
  readonly secret: Buffer
  readonly createdAt: Date
}

export interface SigningKeys {
  /** The one that signs for the project now; made when there is none. */
  current(place: Place, now: Date): Promise<SigningKey>
  find(id: string): Promise<SigningKey | undefined>
}

const contextOf = (id: string): string => `storage.signing_key:${id}`

export const createSigningKeys = (db: Db, box: SecretBox): SigningKeys => {
  const byId = createBoundedCache<SigningKey>(CACHED_MAX)
  const byProject = createBoundedCache<SigningKey>(CACHED_MAX)

  const open = async (row: {
    id: string
    organization_id: string
    project_id: string
    secret: string
    created_at: Date
  }): Promise<SigningKey> => {
    const known = byId.get(row.id)
    if (known) return known
    const secret = await box.open(row.organization_id, contextOf(row.id), row.secret)
    const key = {
      id: row.id,
      organizationId: row.organization_id,
      projectId: row.project_id,
      secret: Buffer.from(secret, "base64"),
      createdAt: row.created_at,
    }
    byId.set(row.id, key)
    return key
  }

  const make = async ({ organization, projectId }: Place, now: Date): Promise<SigningKey> => {
    const id = newId()
    const secret = randomBytes(KEY_BYTES).toString("base64")
    const row = {
      id,
      organization_id: organization.id,
      project_id: projectId,
      secret: await box.seal(organization.id, contextOf(id), secret),
      created_at: now,
    }
    await db.insertInto("storage.signing_keys").values(row).execute()
    return await open(row)
  }

  const signs = (key: { readonly createdAt: Date }, now: Date) =>
    now.getTime() - key.createdAt.getTime() < SIGNS_MS

  return {
    async current(place, now) {
      const known = byProject.get(place.projectId)
      if (known && signs(known, now)) return known
      const newest = await db
        .selectFrom("storage.signing_keys")
        .selectAll()
        .where("project_id", "=", place.projectId)
        .orderBy("created_at", "desc")
        .limit(1)
        .executeTakeFirst()
      const isUsable = newest && signs({ createdAt: newest.created_at }, now)
      const key = isUsable ? await open(newest) : await make(place, now)
      byProject.set(place.projectId, key)
      return key
    },

    async find(id) {
      if (!isUuid(id)) return undefined
      const known = byId.get(id)
      if (known) return known
      const row = await db
        .selectFrom("storage.signing_keys")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst()
      return row && (await open(row))
    },
  }
}
