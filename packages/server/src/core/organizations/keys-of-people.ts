import { expandScopes, isScope, type Role, roleCeiling } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { announceEndOfKeys, type KeyNews } from "../keys/events.ts"
import { type KeyRow, keyStore } from "../keys/store.ts"

/** Speak for the person who made them; other keys belong to the organization and stay when their maker goes. */
const OF_A_PERSON = ["personal", "oauth"]

/** What a member may still do; null once they are none. */
export type Rights = { readonly role: Role; readonly projectIds: readonly string[] | null } | null

const exceeds = (key: KeyRow, rights: Rights): boolean => {
  if (!rights) return true
  const ceiling = roleCeiling(rights.role)
  if ([...expandScopes(key.scopes.filter(isScope))].some(scope => !ceiling.has(scope))) return true
  return rights.projectIds !== null && !rights.projectIds.includes(key.project_id ?? "")
}

/** Revokes a person's own keys that can do more than the person now may. */
export const endKeysBeyond = async (
  call: Call,
  news: KeyNews,
  member: { organizationId: string; userId: string },
  rights: Rights,
) => {
  const keys = await call.db
    .selectFrom("core.api_keys")
    .selectAll()
    .where("organization_id", "=", member.organizationId)
    .where("created_by", "=", member.userId)
    .where("type", "in", OF_A_PERSON)
    .where("revoked_at", "is", null)
    .execute()
  const ended = keys.filter(key => exceeds(key, rights))
  for (const { id } of ended)
    await keyStore(call.db).update(member.organizationId, id, { revoked_at: call.now })
  await announceEndOfKeys(call, news, ended)
}
