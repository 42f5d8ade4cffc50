import { type areas, type Output, page, pageOf, type Role } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { KeyNews } from "../keys/events.ts"
import { endKeysBeyond } from "./keys-of-people.ts"
import { checkProjects, getMembership, lockMembership, organizationTarget } from "./membership.ts"
import { checkLeads, checkMayManage, isLeading, projectsFor } from "./rules.ts"
import { type MemberRecord, organizationStore } from "./store.ts"

type Specs = typeof areas.organizations.specs
type MemberPayload = Output<Specs["updateMember"]>

const toMember = (row: MemberRecord): MemberPayload => ({
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role as Role,
  project_ids: row.project_ids,
  joined_at: row.joined_at.toISOString(),
})

const memberTarget = ({ user_id, email }: MemberRecord) => ({ type: "user", id: user_id, name: email })

const getMember = async ({ db }: Call, organizationId: string, userId: string): Promise<MemberRecord> => {
  const member = await organizationStore(db).findMember(organizationId, userId)
  if (!member) throw fault("member_not_found")
  return member
}

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

export const memberHandlers = (
  news: KeyNews,
): Pick<Handlers<Specs>, "listMembers" | "updateMember" | "removeMember"> => ({
  async listMembers({ org_id, ...input }, call) {
    const { id } = await getMembership(call, org_id)
    const listed = await organizationStore(call.db).listMembers(id, pageOf(input))
    return page({ rows: listed.rows.map(toMember), total: listed.total }, input)
  },

  async updateMember({ org_id, user_id, role, project_ids }, call) {
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
    const rights = { role: newRole, projectIds }
    await endKeysBeyond(call, news, { organizationId: actor.id, userId: member.user_id }, rights)
    call.describe({
      targets: [organizationTarget(actor), memberTarget(member)],
      metadata: { role_before: oldRole, role: newRole, project_ids: projectIds },
    })
    return toMember({ ...member, ...change })
  },

  async removeMember({ org_id, user_id }, call) {
    const actor = await lockMembership(call, org_id)
    const isLeaving = user_id.toLowerCase() === call.principal.id
    if (!isLeaving) checkLeads(actor.role)
    const member = await getMember(call, actor.id, user_id)
    if (!isLeaving) checkMayManage(actor.role, member.role as Role)
    await checkNotLastOwner(call, member)

    await organizationStore(call.db).deleteMember(actor.id, member.user_id)
    await endKeysBeyond(call, news, { organizationId: actor.id, userId: member.user_id }, null)
    call.describe({ targets: [organizationTarget(actor), memberTarget(member)] })
  },
})
