import { type Role, roleCeiling, type Scope } from "@svc/contract"
import type { ApiKeyCache } from "../../core/keys/key-cache.ts"
import { type MemberRow, organizationStore } from "../../core/organizations/store.ts"
import type { Tenant } from "../../core/organizations/tenants.ts"
import type { Principal } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { holds } from "../../kernel/scopes.ts"
import type { Grant } from "./rules/signed-urls.ts"

const CACHED_MAX = 10_000
const UUID_LENGTH = 36

export const mayWrite = (principal: Principal): boolean =>
  !principal.readOnly && holds(principal, "storage:write")

export interface Signers {
  /** Whether the key or the person who made a URL could still do what the URL allows. */
  allow(grant: Pick<Grant, "c" | "u" | "m">, place: Tenant, nowMs: number): Promise<boolean>
}

type Member = Pick<MemberRow, "role" | "project_ids">

/** The rights of people in their organizations. A removed or changed member is heard of at once. */
const createMembers = (db: Db, changes: Changes) => {
  const known = createPushedCache<{ readonly member: Member | undefined }>({
    changes,
    topics: { member: "all", organization: "all" },
    read: async key => ({
      member: await organizationStore(db).findMember(key.slice(0, UUID_LENGTH), key.slice(UUID_LENGTH)),
    }),
    idOf: () => undefined,
    entriesMax: CACHED_MAX,
  })
  return async (userId: string, { organization, projectId }: Tenant, scope: Scope): Promise<boolean> => {
    const { member } = await known.find(organization.id + userId)
    if (!member || !roleCeiling(member.role as Role).has(scope)) return false
    return member.project_ids === null || member.project_ids.includes(projectId)
  }
}

/** Keys by id. One that was revoked, or lost a scope, is heard of at once. */
export const createSigners = (needs: {
  readonly database: Database
  readonly keys: Pick<ApiKeyCache, "byId">
  readonly changes: Changes
  readonly clock: Clock
}): Signers => {
  const known = createPushedCache<{ readonly id: string; readonly principal: Principal | undefined }>({
    changes: needs.changes,
    topics: { key: "one", organization: "all", project: "all" },
    async read(id) {
      try {
        return { id, principal: await needs.keys.byId(id, needs.clock.now()) }
      } catch (error) {
        if (isFault(error)) return { id, principal: undefined }
        throw error
      }
    },
    idOf: ({ id }) => id,
    entriesMax: CACHED_MAX,
  })

  const isMember = createMembers(needs.database.db, needs.changes)

  return {
    async allow({ c: keyId, u: userId, m: method }, place, nowMs) {
      if (userId !== undefined)
        return await isMember(userId, place, method === "PUT" ? "storage:write" : "storage:read")
      if (keyId === undefined) return false
      const { principal } = await known.find(keyId)
      if (!principal || (principal.key?.expiresAt && principal.key.expiresAt.getTime() <= nowMs)) return false
      return method === "PUT" ? mayWrite(principal) : holds(principal, "storage:read")
    },
  }
}
