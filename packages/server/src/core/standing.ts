import type { Principal } from "../kernel/call.ts"
import type { Clock } from "../kernel/clock.ts"
import type { Db } from "../kernel/db/database.ts"
import { isFault } from "../kernel/fault.ts"
import type { ApiKeyCache } from "./keys/key-cache.ts"
import { isSameMembership } from "./organizations/rules.ts"

export interface StandingNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly keys: Pick<ApiKeyCache, "byId">
}

/** Whether a caller may still do what was allowed once: streams and terminals outlive the check of their beginning. */
export const createStanding =
  ({ db, clock, keys }: StandingNeeds) =>
  async (principal: Principal, organizationId: string): Promise<boolean> => {
    if (principal.session) {
      const session = await db
        .selectFrom("core.sessions as session")
        .innerJoin("core.members as member", "member.user_id", "session.user_id")
        .where("member.organization_id", "=", organizationId)
        .where("session.id", "=", principal.session.id)
        .where("session.expires_at", ">", new Date(clock.now()))
        .select(["member.role", "member.project_ids"])
        .executeTakeFirst()
      // As with a key: changed permissions are checked at the next connection.
      return session !== undefined && isSameMembership(session, principal)
    }
    try {
      // A key with other scopes is checked anew when its client connects again.
      const { scopes } = await keys.byId(principal.id, clock.now())
      return scopes.join() === principal.scopes.join()
    } catch (error) {
      if (isFault(error) && error.status === 401) return false
      throw error
    }
  }
