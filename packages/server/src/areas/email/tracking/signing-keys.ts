import { randomBytes } from "node:crypto"
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import { createBoundedCache } from "../../../kernel/bounded-cache.ts"
import type { Db } from "../../../kernel/db/database.ts"

/** The secrets that sign the links and return paths of mails: one an organization, for as long as it lives. */
export interface SigningKeys {
  /** Made when there is none. */
  current(organizationId: string): Promise<Buffer>
  /** Undefined for an organization that never signed, or was erased. */
  find(organizationId: string): Promise<Buffer | undefined>
}

const KEY_BYTES = 32
const CACHED_MAX = 10_000

const contextOf = (organizationId: string): string => `email.signing_key:${organizationId}`

export const createSigningKeys = ({ db, box }: { readonly db: Db; readonly box: SecretBox }): SigningKeys => {
  const known = createBoundedCache<Buffer>(CACHED_MAX)

  const find: SigningKeys["find"] = async organizationId => {
    const cached = known.get(organizationId)
    if (cached) return cached
    const row = await db
      .selectFrom("email.signing_keys as key")
      .innerJoin("core.organizations as organization", "organization.id", "key.organization_id")
      .where("key.organization_id", "=", organizationId)
      .where("organization.deleted_at", "is", null)
      .select("key.secret")
      .executeTakeFirst()
    if (!row) return undefined
    const opened = await box.open(organizationId, contextOf(organizationId), row.secret)
    const secret = Buffer.from(opened, "base64")
    known.set(organizationId, secret)
    return secret
  }

  return {
    find,
    async current(organizationId) {
      const found = await find(organizationId)
      if (found) return found
      const made = randomBytes(KEY_BYTES)
      await db
        .insertInto("email.signing_keys")
        .values({
          organization_id: organizationId,
          secret: await box.seal(organizationId, contextOf(organizationId), made.toString("base64")),
          created_at: new Date(),
        })
        .onConflict(conflict => conflict.column("organization_id").doNothing())
        .execute()
      // Another process may have been first.
      return (await find(organizationId)) ?? made
    },
  }
}
