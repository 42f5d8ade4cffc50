import type { areas, Output, PlanName, Role } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { toKeyPolicy } from "../keys/policy.ts"
import { projectStore } from "./project-store.ts"
import { type MembershipRow, organizationStore } from "./store.ts"

export type Membership = Omit<MembershipRow, "role"> & { readonly role: Role }

type OrganizationPayload = Output<(typeof areas.organizations.specs)["get"]>

export const toOrganization = (row: MembershipRow): OrganizationPayload => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  plan: row.plan as PlanName,
  role: row.role as Role,
  key_policy: toKeyPolicy(row),
  created_at: row.created_at.toISOString(),
})

export const organizationTarget = ({ id, name }: Pick<MembershipRow, "id" | "name">) => ({
  type: "organization",
  id,
  name,
})

/** The caller's membership in the organization of the path; for other callers the organization does not exist. */
export const getMembership = async ({ db, principal }: Call, organizationId: string): Promise<Membership> => {
  const found = await requireRow(
    organizationStore(db).membership(principal.id, organizationId),
    "organization_not_found",
  )
  return { ...found, role: found.role as Role }
}

/**
 * The same for a change: changes of one organization take turns, and what was read stays true until this one commits.
 * Its audit entry goes to this organization's chain, whichever one the session acts in.
 */
export const lockMembership = async (call: Call, organizationId: string): Promise<Membership> => {
  // Callers who are no members must not be able to lock the rows of the organization.
  await getMembership(call, organizationId)
  if (!(await organizationStore(call.db).lock(organizationId))) throw fault("organization_not_found")
  const membership = await getMembership(call, organizationId)
  call.describe({ tenantId: organizationId, targets: [organizationTarget(membership)] })
  return membership
}

/** Refuses ids that are not projects of the organization. */
export const checkProjects = async ({ db }: Call, organizationId: string, ids: readonly string[] | null) => {
  if (ids === null || ids.length === 0) return
  if ((await projectStore(db).countAmong(organizationId, ids)) < ids.length)
    throw fault("project_not_in_organization")
}
