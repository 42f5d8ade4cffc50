import { sql } from "kysely"
import { checkLeads } from "../../core/organizations/rules.ts"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Inbox } from "./store.ts"

const KNOWN_MAX = 10_000

/**
 * The inboxes that ids stand for: of a member the user's own, of a service key the one of the key that it was rotated
 * from, so that a rotation loses nothing. Others of the ids, those of other organizations included, are left out.
 */
const inboxesOf = async (
  db: Db,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await sql<{ given: string; inbox: string }>`
    WITH RECURSIVE versions AS (
      SELECT id AS given, id, rotated_from_id FROM core.api_keys
      WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[])
        AND type IN ('secret', 'service_account')
      UNION ALL
      SELECT versions.given, older.id, older.rotated_from_id FROM versions
      JOIN core.api_keys older ON older.organization_id = ${organizationId}
        AND older.id = versions.rotated_from_id
    )
    SELECT user_id AS given, user_id AS inbox FROM core.members
    WHERE organization_id = ${organizationId} AND user_id = ANY(${ids}::uuid[])
    UNION ALL
    SELECT given, id FROM versions WHERE rotated_from_id IS NULL`.execute(db)
  return new Map(rows.map(({ given, inbox }) => [given, inbox]))
}

export const createRecipients = () => {
  /** A key's first version never changes. */
  const known = createBoundedCache<string>(KNOWN_MAX)

  const own = async ({ db, principal, organization }: Call): Promise<string> => {
    if (principal.user) return principal.user.id
    const inbox =
      known.get(principal.id) ??
      (await inboxesOf(db, organization.id, [principal.id])).get(principal.id) ??
      principal.id
    known.set(principal.id, inbox)
    return inbox
  }

  /** People look into the inboxes of others only where they lead; service keys act for everybody. */
  const checkMayNameOthers = ({ principal }: Call) => {
    if (principal.user) checkLeads(principal.role)
  }

  const resolve = async ({ db, organization }: Call, ids: readonly string[]): Promise<string[]> => {
    // Ids come in either case, and PostgreSQL gives them in lower case.
    const asked = ids.map(id => id.toLowerCase())
    const inboxes = await inboxesOf(db, organization.id, asked)
    const missing = asked.find(id => !inboxes.has(id))
    if (missing !== undefined) throw fault("member_not_found", { id: missing })
    return [...new Set(asked.map(id => inboxes.get(id) ?? id))]
  }

  return {
    own,

    /** The inboxes of whom the ids name. Throws `member_not_found` for the first that is nobody of the organization. */
    resolve,

    /** The same, for what a person has in all projects: devices and preferences. */
    async settingsOf(call: Call, named: string | undefined): Promise<Inbox> {
      const inbox = await this.inbox(call, named)
      if (inbox.isOthers && !call.principal.organizationReach) throw fault("organization_reach_required")
      return inbox
    },

    /** The inbox that a call is about: the caller's, or the one it names. */
    async inbox(call: Call, named: string | undefined): Promise<Inbox> {
      const { organization, principal } = call
      const mine = await own(call)
      let userId = mine
      if (named !== undefined && named.toLowerCase() !== mine) {
        checkMayNameOthers(call)
        ;[userId = mine] = await resolve(call, [named])
      }
      return {
        organizationId: organization.id,
        userId,
        projectId: principal.project?.id ?? null,
        isOthers: userId !== mine,
      }
    },
  }
}

export type Recipients = ReturnType<typeof createRecipients>
