import { expandScopes, isScope, type KeyType, type Role, roleCeiling } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { toIso } from "../../kernel/to-iso.ts"
import { announceEndOfKeys, type KeyNews } from "../keys/events.ts"
import { hasOrganizationReach } from "../keys/rules.ts"
import { isOfPerson, type KeyRow, keyStore } from "../keys/store.ts"
import { isLeading } from "./rules.ts"
import { organizationStore } from "./store.ts"

/** What a member may still do; null once the person is no member. */
export type Rights = { readonly role: Role; readonly projectIds: readonly string[] | null } | null

export interface KeysChoice {
  readonly keys?: "revoke" | "hand_over"
  readonly keys_to?: string
}

interface Member {
  readonly organizationId: string
  readonly userId: string
}

export interface KeyOutcome {
  readonly key: KeyRow
  readonly outcome: "revoked" | "handed_over"
  readonly handedTo: string | null
}

/** True if the key can do more than a member with these rights could grant. */
const exceeds = (key: KeyRow, rights: Rights): boolean => {
  if (!rights) return true
  const ceiling = roleCeiling(rights.role)
  if ([...expandScopes(key.scopes.filter(isScope))].some(scope => !ceiling.has(scope))) return true
  if (hasOrganizationReach(key) && !isLeading(rights.role)) return true
  if (key.project_id === null) return false
  return rights.projectIds !== null && !rights.projectIds.includes(key.project_id)
}

/** The live keys of a member that exceed these rights: all of them where there are none. */
export const keysBeyond = async (
  { db, now }: Pick<Call, "db" | "now">,
  { organizationId, userId }: Member,
  rights: Rights,
): Promise<KeyRow[]> => {
  const made = await keyStore(db).listLiveOfMaker(organizationId, userId, now)
  return made.filter(key => exceeds(key, rights))
}

/** The member who gets the keys; undefined where they are revoked. */
const receiverOf = async (
  call: Call,
  { organizationId, userId }: Member,
  { keys, keys_to }: KeysChoice,
): Promise<{ readonly id: string; readonly rights: Rights } | undefined> => {
  if (keys !== "hand_over") {
    if (keys_to === undefined) return undefined
    throw fault("invalid_parameter", { reason: "keys_to goes with keys: hand_over" })
  }
  if (keys_to === undefined) throw fault("missing_parameter", { field: "keys_to" })
  const id = keys_to.toLowerCase()
  if (id === userId) throw fault("invalid_parameter", { reason: "keys_to names the same member" })
  const receiver = await requireRow(
    organizationStore(call.db).findMember(organizationId, id),
    "member_not_found",
    { id },
  )
  return { id, rights: { role: receiver.role as Role, projectIds: receiver.project_ids } }
}

/**
 * Revokes the keys of a member that can do more than the member now may, or hands them over, as was chosen. Run it after
 * the membership was changed: a key that was being made meanwhile is found too.
 */
export const settleKeysBeyond = async (
  call: Call,
  news: KeyNews,
  member: Member,
  rights: Rights,
  choice: KeysChoice,
): Promise<KeyOutcome[]> => {
  const receiver = await receiverOf(call, member, choice)
  const outcomes: KeyOutcome[] = []
  for (const key of await keysBeyond(call, member, rights)) {
    const isRevoked = !receiver || isOfPerson(key.type)
    if (!isRevoked && exceeds(key, receiver.rights)) {
      throw fault("invalid_parameter", { reason: `keys_to may not create the key ${key.name}` })
    }
    const change = isRevoked ? { revoked_at: call.now } : { created_by: receiver.id }
    await keyStore(call.db).update(member.organizationId, key.id, change)
    outcomes.push(
      isRevoked
        ? { key, outcome: "revoked", handedTo: null }
        : { key, outcome: "handed_over", handedTo: receiver.id },
    )
  }
  await announceEndOfKeys(
    call,
    news,
    outcomes.filter(({ outcome }) => outcome === "revoked").map(({ key }) => key),
  )
  return outcomes
}

const keyFields = ({ id, name, type, prefix, project_id }: KeyRow) => ({
  id,
  name,
  type: type as KeyType,
  prefix,
  project_id,
})

export const toOutcome = ({ key, outcome, handedTo }: KeyOutcome) => ({
  ...keyFields(key),
  outcome,
  handed_to: handedTo,
})

export const toMemberKey = (key: KeyRow) => ({
  ...keyFields(key),
  scopes: key.scopes,
  last_used_at: toIso(key.last_used_at),
  expires_at: toIso(key.expires_at),
  can_be_handed_over: !isOfPerson(key.type),
})
