/** What a person can connect an app to. */
import { isScope, OAUTH_OFFLINE_SCOPE, type PlanName, type Role, roleCeiling } from "@svc/contract"
import type { Rights } from "../../core/keys/rules.ts"
import { projectStore } from "../../core/organizations/project-store.ts"
import { type MembershipRow, organizationStore } from "../../core/organizations/store.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"

const LISTED_MAX = 200

interface Named {
  readonly id: string
  readonly name: string
}

export interface Choice {
  readonly organization: Named & { readonly plan: PlanName }
  readonly project: Named
  readonly rights: Rights
}

const rightsOf = ({ role, project_ids }: Pick<MembershipRow, "role" | "project_ids">): Rights => ({
  role: role as Role,
  projectIds: project_ids && new Set(project_ids),
})

const choiceOf = (membership: MembershipRow, { id, name }: Named): Choice => ({
  organization: { id: membership.id, name: membership.name, plan: membership.plan as PlanName },
  project: { id, name },
  rights: rightsOf(membership),
})

/** Viewers make no keys, so they connect nothing. */
const mayConnect = ({ role }: MembershipRow): boolean => role !== "viewer"

export const listChoices = async (db: Db, userId: string): Promise<Choice[]> => {
  const { rows } = await organizationStore(db).listMemberships(userId, { limit: LISTED_MAX, offset: 0 })
  const choices: Choice[] = []
  for (const membership of rows.filter(mayConnect)) {
    const limit = LISTED_MAX - choices.length
    if (limit <= 0) break
    const ids = membership.project_ids && new Set(membership.project_ids)
    const projects = await projectStore(db).list(membership.id, { ids, limit, offset: 0 })
    choices.push(...projects.rows.map(project => choiceOf(membership, project)))
  }
  return choices
}

/** That project, in whatever organization of the person's; undefined where it is none of theirs. */
export const findChoice = async (
  db: Db,
  userId: string,
  {
    project_id,
    organization_id,
  }: { readonly project_id: string; readonly organization_id?: string | undefined },
): Promise<Choice | undefined> => {
  const id = project_id.toLowerCase()
  const membership = await organizationStore(db).defaultMembership(userId, id)
  const project = membership && (await projectStore(db).find(membership.id, id))
  if (!membership || !project) return undefined
  return (organization_id ?? membership.id).toLowerCase() === membership.id
    ? choiceOf(membership, project)
    : undefined
}

/** The project that was named, or the only one; throws where that is none of the person's. */
export const choose = async (
  db: Db,
  userId: string,
  { project_id, organization_id }: { readonly project_id?: string; readonly organization_id?: string },
): Promise<Choice> => {
  if (project_id !== undefined) {
    const found = await findChoice(db, userId, { project_id, organization_id })
    if (!found) throw fault("project_not_in_organization")
    return found
  }
  const [only, ...others] = await listChoices(db, userId)
  if (!only || others.length > 0) throw fault("project_required")
  return only
}

/** Whether a person with these rights can grant that scope. */
export const canGrant = ({ role }: Rights, scope: string): boolean =>
  scope === OAUTH_OFFLINE_SCOPE || (role !== null && isScope(scope) && roleCeiling(role).has(scope))
