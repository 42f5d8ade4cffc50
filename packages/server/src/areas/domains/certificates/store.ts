import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import type { Db } from "../../../kernel/db/database.ts"
import { newId } from "../../../kernel/id.ts"
import { type DomainRow, domainStore } from "../store.ts"
import type { ReadChain } from "./chain.ts"

type Owned = Pick<DomainRow, "id" | "organization_id" | "project_id">

export interface StoredCertificate {
  readonly id: string
  readonly chain: string
  readonly privateKey: string
}

const contextOf = (domainId: string): string => `domains.certificate:${domainId}`

/** Certificates of domains, and what authorities ask for before they issue one. */
export const certificateStore = (db: Db) => ({
  /** In place of the one before. Gives what the domain says of it. */
  async put(box: SecretBox, row: Owned, { chain, privateKey, notAfter }: ReadChain, now: Date) {
    const id = newId()
    const sealed = await box.seal(row.organization_id, contextOf(row.id), privateKey)
    const kept = { id, chain, private_key: sealed, created_at: now }
    await db
      .insertInto("domains.certificates")
      .values({ ...kept, domain_id: row.id, organization_id: row.organization_id })
      .onConflict(conflict => conflict.column("domain_id").doUpdateSet(kept))
      .execute()
    const change = {
      ...{ certificate_id: id, certificate_not_after: notAfter, certificate_error: null },
      ...{ certificate_failures: 0, updated_at: now },
    }
    await domainStore(db).update(row.project_id, row.id, change)
    return change
  },

  async find(box: SecretBox, row: Owned): Promise<StoredCertificate | undefined> {
    const stored = await db
      .selectFrom("domains.certificates")
      .where("organization_id", "=", row.organization_id)
      .where("domain_id", "=", row.id)
      .selectAll()
      .executeTakeFirst()
    if (!stored) return undefined
    const privateKey = await box.open(row.organization_id, contextOf(row.id), stored.private_key)
    return { id: stored.id, chain: stored.chain, privateKey }
  },

  putChallenge: async (domainId: string, challenge: { token: string; answer: string }, now: Date) => {
    await db
      .insertInto("domains.challenges")
      .values({ ...challenge, domain_id: domainId, created_at: now })
      .onConflict(conflict => conflict.columns(["domain_id", "token"]).doNothing())
      .execute()
  },

  async findAnswer(domainId: string, token: string): Promise<string | undefined> {
    const row = await db
      .selectFrom("domains.challenges")
      .where("domain_id", "=", domainId)
      .where("token", "=", token)
      .select("answer")
      .executeTakeFirst()
    return row?.answer
  },

  removeChallenges: async (domainId: string) => {
    await db.deleteFrom("domains.challenges").where("domain_id", "=", domainId).execute()
  },
})
