import { areas, type Output, page, pageOf, plans } from "@svc/contract"
import type { Call, Principal } from "../../kernel/call.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { checkStepUp } from "../accounts/step-up.ts"
import { announceEndOfKeys, type KeyNews } from "../keys/events.ts"
import { keyStore } from "../keys/store.ts"
import { type ProjectRecord, projectStore } from "./project-store.ts"
import { checkLeads, checkRoom } from "./rules.ts"
import { createProject } from "./service.ts"
import { organizationStore } from "./store.ts"

type ProjectPayload = Output<(typeof areas.projects.specs)["get"]>

const toProject = (row: ProjectRecord): ProjectPayload => ({
  id: row.id,
  organization_id: row.organization_id,
  name: row.name,
  slug: row.slug,
  region: row.region,
  publishable_key_id: row.publishable_key_id,
  created_at: row.created_at.toISOString(),
})

const projectTarget = ({ id, name }: ProjectRecord) => ({ type: "project", id, name })

/** The projects that the caller sees: a bound key its own, a restricted member theirs; null: all. */
const visibleTo = ({ project, projectIds }: Principal): ReadonlySet<string> | null =>
  project ? new Set([project.id]) : projectIds

const getProject = async ({ db, principal }: Call, id: string): Promise<ProjectRecord> => {
  const visible = visibleTo(principal)
  const found = principal.organization && (await projectStore(db).find(principal.organization.id, id))
  if (!found || (visible && !visible.has(found.id))) throw fault("project_not_found")
  return found
}

/** Changes of one organization's projects are serialized; owners and administrators may make them. */
const lockProjects = async ({ db, principal, organization }: Call) => {
  checkLeads(principal.role)
  if (!(await organizationStore(db).lock(organization.id))) throw fault("organization_not_found")
}

const orNameTaken = async <Made>(name: string, make: Promise<Made>): Promise<Made> => {
  try {
    return await make
  } catch (error) {
    if (isUniqueViolation(error, "projects_name")) throw fault("name_taken", { resource: "project", name })
    throw error
  }
}

export const projectsHandlers = implement(areas.projects, (news: KeyNews) => {
  return {
    async list(input, { db, principal }) {
      // A person may have left every organization.
      if (!principal.organization) return page({ rows: [], total: 0 }, input)
      const listed = await projectStore(db).list(principal.organization.id, {
        ids: visibleTo(principal),
        ...pageOf(input),
      })
      return page({ rows: listed.rows.map(toProject), total: listed.total }, input)
    },

    async create({ name }, call) {
      const { db, organization, principal, now } = call
      await lockProjects(call)
      checkRoom(plans[organization.plan].projects, await projectStore(db).count(organization.id), "project")
      const making = createProject(db, { organizationId: organization.id, name, userId: principal.id, now })
      const { project } = await orNameTaken(name, making)
      call.describe({ targets: [projectTarget(project)] })
      return toProject(project)
    },

    async get({ id }, call) {
      return toProject(await getProject(call, id))
    },

    async update({ id, name }, call) {
      await lockProjects(call)
      const project = await getProject(call, id)
      await orNameTaken(name, projectStore(call.db).update(call.organization.id, project.id, { name }))
      await news.changes.invalidate(call.db, "project", project.id)
      call.describe({ targets: [projectTarget(project)], metadata: { name } })
      return toProject({ ...project, name })
    },

    async delete({ id }, call): Promise<undefined> {
      const { db, organization, now } = call
      await lockProjects(call)
      const project = await getProject(call, id)
      checkStepUp(call)
      await projectStore(db).update(organization.id, project.id, { deleted_at: now })
      const ended = await keyStore(db).revokeOfProject(organization.id, project.id, now)
      await announceEndOfKeys(call, news, ended)
      await news.changes.invalidate(call.db, "project", project.id)
      call.describe({ targets: [projectTarget(project)] })
    },
  }
})
