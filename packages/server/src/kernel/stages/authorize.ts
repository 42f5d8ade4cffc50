import { admits, describeScopes, type FaultCode } from "@svc/contract"
import type { ProjectFacts } from "../call.ts"
import type { Exchange, Stage } from "../exchange.ts"
import { fault } from "../fault.ts"
import { isUuid } from "../id.ts"
import type { Projects } from "../needs.ts"

/** A tenant id in the request must be the caller's, and is compared before anything is looked up by it. */
export const checkTenant = ({ organization }: Exchange, tenantId: unknown) => {
  if (typeof tenantId === "string" && tenantId.toLowerCase() !== organization?.id)
    throw fault("tenant_mismatch")
}

const namedProject = ({ incoming }: Exchange): string | undefined => {
  const named = incoming.header("x-svc-project")
  const alias = incoming.header("x-project-id")
  if (named !== undefined && alias !== undefined && named !== alias) {
    throw fault("invalid_request", undefined, {
      errors: [{ location: "header.x-project-id", message: "names another project than x-svc-project" }],
    })
  }
  return (named ?? alias)?.toLowerCase()
}

/** The project in the path, in protocols whose clients send no headers of ours. */
const checkPathProject = (exchange: Exchange, named: string | undefined, refusal: FaultCode): string => {
  const inPath = String(exchange.incoming.params.project_id).toLowerCase()
  const bound = exchange.principal.project?.id
  if (!isUuid(inPath) || (bound !== undefined && bound !== inPath))
    throw fault(refusal, { name: inPath.slice(0, 100) })
  if (named !== undefined && named !== inPath) throw fault("project_not_in_organization")
  return inPath
}

const enter = (exchange: Exchange, project: ProjectFacts | undefined): undefined => {
  const { projectIds } = exchange.principal
  if (!project || (projectIds && !projectIds.has(project.id)))
    throw fault(exchange.operation.pathProject ?? "project_not_in_organization")
  exchange.project = project
  return undefined
}

/** Whether the caller holds a scope that admits, and in which tenant and project the call acts. */
export const authorize =
  (projects: Projects): Stage =>
  exchange => {
    const { operation, principal, organization } = exchange
    if (exchange.bound.accepted && !admits(principal.held, exchange.bound.accepted)) {
      throw fault("missing_scope", { scopes: describeScopes(operation.scope) })
    }
    if ("tenant_id" in exchange.incoming.params) checkTenant(exchange, exchange.incoming.params.tenant_id)
    if (exchange.bound.takesOrganization && !principal.organizationReach)
      throw fault("organization_reach_required")
    if (operation.project === "none" || !organization) return undefined

    const { pathProject } = operation
    const inHeader = namedProject(exchange)
    const named = pathProject ? checkPathProject(exchange, inHeader, pathProject) : inHeader
    if (principal.project) {
      if (named !== undefined && named !== principal.project.id) throw fault("project_not_in_organization")
      exchange.project = principal.project
      return undefined
    }
    if (named !== undefined) {
      if (!isUuid(named)) throw fault("project_not_in_organization")
      const found = projects.find(organization.id, named)
      return found instanceof Promise
        ? found.then(project => enter(exchange, project))
        : enter(exchange, found)
    }
    if (operation.project === "required" || principal.projectIds) throw fault(operation.refusals.project)
    return undefined
  }
