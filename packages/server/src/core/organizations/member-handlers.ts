import { type areas, type Output, page, pageOf, type Role } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { KeyNews } from "../keys/events.ts"
import { withdrawInvitationsBeyond } from "./invitation-handlers.ts"
import {
  type KeyOutcome,
  type KeysChoice,
  keysBeyond,
  type Rights,
  settleKeysBeyond,
  toMemberKey,
  toOutcome,
} from "./member-keys.ts"
import {
  checkProjects,
  getMembership,
  lockMembership,
  type Membership,
  organizationTarget,
} from "./membership.ts"
import { checkLeads, checkMayManage, isLeading, projectsFor } from "./rules.ts"
import { type MemberRecord, organizationStore } from "./store.ts"

type Specs = typeof areas.organizations.specs
type MemberPayload = Output<Specs["listMembers"]>["data"][number]

const toMember = (row: MemberRecord): MemberPayload => ({
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role as Role,
  project_ids: row.project_ids,
  joined_at: row.joined_at.toISOString(),
})

const memberTarget = ({ user_id, email }: MemberRecord) => ({ type: "user", id: user_id, name: email })

const getMember = ({ db }: Call, organizationId: string, userId: string): Promise<MemberRecord> =>
  requireRow(organizationStore(db).findMember(organizationId, userId), "member_not_found")

/** Holds under races because the organization is locked. */
const checkNotLastOwner = async ({ db }: Call, { organization_id, role }: MemberRecord) => {
  if (role === "owner" && (await organizationStore(db).countMembers(organization_id, "owner")) === 1) {
    throw fault("last_owner")
  }
}

/** The restriction after a change of role: one that is not mentioned stays, as far as the role allows. */
const restrictionAfter = (
  role: Role,
  asked: readonly string[] | null | undefined,
  current: string[] | null,
) => {
  if (asked !== undefined) return projectsFor(role, asked)
  return isLeading(role) ? null : current
}

const keyTarget = ({ key }: KeyOutcome) => ({ type: "api_key", id: key.id, name: key.name })

/** The rights after the change that is asked about; without a role and projects it is a removal. */
const rightsAsked = (
  member: MemberRecord,
  role: Role | undefined,
  projectIds: readonly string[] | undefined,
): Rights => {
  if (role === undefined && projectIds === undefined) return null
  const newRole = role ?? (member.role as Role)
  return { role: newRole, projectIds: restrictionAfter(newRole, projectIds, member.project_ids) }
}

const leaves = (call: Call, userId: string) => userId.toLowerCase() === call.principal.id

type Operations = "listMembers" | "updateMember" | "removeMember" | "memberKeys"

export const memberHandlers = (news: KeyNews): Pick<Handlers<Specs>, Operations> => {
  /** Ends what a membership was good for and is not any more; the audit entry of the call tells what that was. */
  const settle = async (
    call: Call,
    actor: Membership,
    { member, rights, choice }: { member: MemberRecord; rights: Rights; choice: KeysChoice },
    metadata: Readonly<Record<string, unknown>> = {},
  ) => {
    const place = { organizationId: actor.id, userId: member.user_id }
    const keys = await settleKeysBeyond(call, news, place, rights, choice)
    const withdrawn = await withdrawInvitationsBeyond(call, place, rights?.role ?? null)
    await news.changes.invalidate(call.db, "member", member.user_id)
    call.describe({
      targets: [organizationTarget(actor), memberTarget(member), ...keys.map(keyTarget)],
      metadata: {
        ...metadata,
        keys: keys.map(({ key, outcome, handedTo }) => ({ id: key.id, outcome, handed_to: handedTo })),
        withdrawn_invitations: withdrawn.map(({ id }) => id),
      },
    })
    return {
      keys: keys.map(toOutcome),
      withdrawn_invitations: withdrawn.map(({ id, email }) => ({ id, email })),
    }
  }

  return {
    async listMembers({ org_id, ...input }, call) {
      const { id } = await getMembership(call, org_id)
      const listed = await organizationStore(call.db).listMembers(id, pageOf(input))
      return page({ rows: listed.rows.map(toMember), total: listed.total }, input)
    },

    async updateMember({ org_id, user_id, role, project_ids, ...choice }, call) {
      const actor = await lockMembership(call, org_id)
      checkLeads(actor.role)
      const member = await getMember(call, actor.id, user_id)
      const oldRole = member.role as Role
      const newRole = role ?? oldRole
      checkMayManage(actor.role, oldRole, newRole)
      if (newRole !== "owner") await checkNotLastOwner(call, member)

      const projectIds = restrictionAfter(newRole, project_ids, member.project_ids)
      await checkProjects(call, actor.id, project_ids ?? null)
      const change = { role: newRole, project_ids: projectIds }
      await organizationStore(call.db).updateMember(actor.id, member.user_id, change)
      const settled = await settle(
        call,
        actor,
        { member, rights: { role: newRole, projectIds }, choice },
        { role_before: oldRole, role: newRole, project_ids: projectIds },
      )
      return { ...toMember({ ...member, ...change }), ...settled }
    },

    async removeMember({ org_id, user_id, ...choice }, call) {
      const actor = await lockMembership(call, org_id)
      const isLeaving = leaves(call, user_id)
      // Who leaves knows the secrets of the keys, and would go on using them by handing them over.
      if (!isLeaving || choice.keys === "hand_over") checkLeads(actor.role)
      const member = await getMember(call, actor.id, user_id)
      if (!isLeaving) checkMayManage(actor.role, member.role as Role)
      await checkNotLastOwner(call, member)

      await organizationStore(call.db).deleteMember(actor.id, member.user_id)
      return { user_id: member.user_id, ...(await settle(call, actor, { member, rights: null, choice })) }
    },

    async memberKeys({ org_id, user_id, role, project_ids, ...input }, call) {
      const actor = await getMembership(call, org_id)
      if (!leaves(call, user_id)) checkLeads(actor.role)
      const member = await getMember(call, actor.id, user_id)
      const rights = rightsAsked(member, role, project_ids?.toLowerCase().split(","))
      const place = { organizationId: actor.id, userId: member.user_id }
      const keys = await keysBeyond(call, place, rights)
      const { offset, limit } = pageOf(input)
      return page({ rows: keys.slice(offset, offset + limit).map(toMemberKey), total: keys.length }, input)
    },
  }
}
