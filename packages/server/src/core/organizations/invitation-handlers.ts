import { type areas, type Output, type PlanName, page, pageOf, plans, type Role } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { lockUser } from "../accounts/signed-in-user.ts"
import { newToken, tokenHash } from "../accounts/token.ts"
import { type InvitationRow, invitationStore } from "./invitation-store.ts"
import {
  checkProjects,
  getMembership,
  lockMembership,
  organizationTarget,
  toOrganization,
} from "./membership.ts"
import { checkLeads, checkMayManage, checkRoom, invitationStatus, mayManage, projectsFor } from "./rules.ts"
import { organizationStore } from "./store.ts"

type Specs = typeof areas.organizations.specs
type InvitationPayload = Output<Specs["listInvitations"]>["data"][number]
type Operations = "listInvitations" | "invite" | "revokeInvitation" | "acceptInvitation"

const TOKEN_PREFIX = "svc_inv_"
const LIFETIME_MS = 7 * 24 * 3600 * 1000

const toInvitation = (row: InvitationRow, now: Date): InvitationPayload => ({
  id: row.id,
  email: row.email,
  role: row.role as Role,
  project_ids: row.project_ids,
  status: invitationStatus(row, now),
  expires_at: row.expires_at.toISOString(),
  created_at: row.created_at.toISOString(),
})

const invitationTarget = ({ id, email }: InvitationRow) => ({ type: "invitation", id, name: email })

interface Claim {
  readonly tokenHash: Buffer
  /** Of the person who shows the token. */
  readonly email: string
  readonly now: Date
}

/** The invitation of a token, if this person may take it. Every other case reads the same to the caller. */
export const getOpenInvitation = async (db: Db, claim: Claim): Promise<InvitationRow> => {
  const { email, now } = claim
  const invitation = await invitationStore(db).findByTokenHash(claim.tokenHash)
  const isTheirs = invitation?.email.toLowerCase() === email.toLowerCase()
  if (!invitation || !isTheirs || invitationStatus(invitation, now) !== "pending")
    throw fault("invitation_not_found")
  return invitation
}

/** Withdraws what a person invited to and now may not: an invitation is its maker's word. */
export const withdrawInvitationsBeyond = async (
  { db, now }: Pick<Call, "db" | "now">,
  { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
  role: Role | null,
): Promise<InvitationRow[]> => {
  const open = await invitationStore(db).listOpenOfMaker(organizationId, userId, now)
  const beyond = open.filter(invitation => role === null || !mayManage(role, invitation.role as Role))
  for (const { id } of beyond) await invitationStore(db).revoke(organizationId, id, now)
  return beyond
}

const seatsOf = (plan: string): number | null => plans[plan as PlanName].seats

const invite: Handlers<Specs>["invite"] = async ({ org_id, email, role, project_ids }, call) => {
  const { db, principal, now } = call
  const actor = await lockMembership(call, org_id)
  checkMayManage(actor.role, role)
  const projectIds = projectsFor(role, project_ids ?? null)
  await checkProjects(call, actor.id, projectIds)
  if (await organizationStore(db).findMemberByEmail(actor.id, email)) throw fault("member_exists")

  await invitationStore(db).revokeOpenFor(actor.id, email, now)
  const promised = await invitationStore(db).countPending(actor.id, now)
  checkRoom(seatsOf(actor.plan), (await organizationStore(db).countMembers(actor.id)) + promised, "seat")

  const token = newToken(TOKEN_PREFIX)
  const row: InvitationRow = {
    id: newId(now.getTime()),
    organization_id: actor.id,
    email,
    role,
    project_ids: projectIds,
    token_hash: tokenHash(token),
    invited_by: principal.id,
    created_at: now,
    expires_at: new Date(now.getTime() + LIFETIME_MS),
    accepted_at: null,
    revoked_at: null,
  }
  await invitationStore(db).insert(row)
  call.describe({ targets: [organizationTarget(actor), invitationTarget(row)], metadata: { role } })
  return { ...toInvitation(row, now), token }
}

const acceptInvitation: Handlers<Specs>["acceptInvitation"] = async ({ token }, call) => {
  const { db, principal, now } = call
  const email = principal.user?.email ?? ""
  const invitation = await getOpenInvitation(db, { tokenHash: tokenHash(token), email, now })
  const { organization_id, role, project_ids } = invitation
  if (!(await organizationStore(db).lock(organization_id))) throw fault("invitation_not_found")
  if (!(await invitationStore(db).accept(organization_id, invitation.id, now)))
    throw fault("invitation_not_found")
  if (await organizationStore(db).membership(principal.id, organization_id)) throw fault("member_exists")

  await lockUser(call, db)
  const member = { organization_id, user_id: principal.id, role, project_ids, joined_at: now }
  await organizationStore(db).insertMember(member)
  const joined = await getMembership(call, organization_id)
  // The plan may have become smaller since the invitation; the one who has just joined counts already.
  checkRoom(seatsOf(joined.plan), (await organizationStore(db).countMembers(organization_id)) - 1, "seat")
  call.describe({
    tenantId: organization_id,
    targets: [organizationTarget(joined), invitationTarget(invitation)],
    metadata: { role },
  })
  return toOrganization(joined)
}

export const invitationHandlers: Pick<Handlers<Specs>, Operations> = {
  async listInvitations({ org_id, ...input }, call) {
    const actor = await getMembership(call, org_id)
    checkLeads(actor.role)
    const listed = await invitationStore(call.db).list(actor.id, pageOf(input))
    return page({ rows: listed.rows.map(row => toInvitation(row, call.now)), total: listed.total }, input)
  },

  invite,

  async revokeInvitation({ org_id, id }, call) {
    const actor = await lockMembership(call, org_id)
    checkLeads(actor.role)
    const invitation = await invitationStore(call.db).find(actor.id, id)
    if (!invitation || invitation.accepted_at || invitation.revoked_at) throw fault("invitation_not_found")
    checkMayManage(actor.role, invitation.role as Role)
    await invitationStore(call.db).revoke(actor.id, invitation.id, call.now)
    call.describe({ targets: [organizationTarget(actor), invitationTarget(invitation)] })
  },

  acceptInvitation,
}
