/** Who stands behind a project, for callers who bring no key: public readers, those with a signed URL, and logins of databases. */
import type { PlanName } from "@svc/contract"
import { plans } from "@svc/contract"
import type { OrganizationFacts } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"

const CACHED_MAX = 10_000

export interface Tenant {
  readonly organization: OrganizationFacts
  readonly projectId: string
}

export interface Tenants {
  /** Undefined when the project, or its organization, is not there or was deleted. */
  find(projectId: string): Promise<Tenant | undefined>
}

const toOrganization = (row: {
  id: string
  name: string
  plan: string
  requests_per_second: number | null
}): OrganizationFacts => {
  const plan = row.plan as PlanName
  const requestsPerSecond = row.requests_per_second ?? plans[plan].requests_per_second
  return { id: row.id, name: row.name, plan, requestsPerSecond }
}

export const createTenants = (db: Db, changes: Changes): Tenants => {
  const known = createPushedCache<Tenant | undefined>({
    changes,
    topics: { project: "one", organization: "all" },
    async read(projectId) {
      const row = await db
        .selectFrom("core.projects as project")
        .innerJoin("core.organizations as organization", "organization.id", "project.organization_id")
        .select(["organization.id", "organization.name", "plan", "requests_per_second"])
        .where("project.id", "=", projectId)
        .where("project.deleted_at", "is", null)
        .where("organization.deleted_at", "is", null)
        .executeTakeFirst()
      return row && { organization: toOrganization(row), projectId }
    },
    idOf: place => place?.projectId,
    entriesMax: CACHED_MAX,
  })
  return {
    find: async projectId => (isUuid(projectId) ? await known.find(projectId.toLowerCase()) : undefined),
  }
}
