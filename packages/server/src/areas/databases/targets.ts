import { fault } from "../../kernel/fault.ts"
import { holds } from "../../kernel/scopes.ts"
import type { Directory } from "./directory.ts"
import { projectOf } from "./lookup.ts"
import type { Targets } from "./offers.ts"
import type { Provision } from "./provision.ts"
import type { databaseStore } from "./store.ts"

/** Statements that expect the tables of a deleted database must not find an empty one instead. */
const lacksDefault = ({ id, name }: { id: string; name: string }) =>
  fault("database_not_found", {
    reason:
      `the project's default database ${name} was deleted; bring it back with POST /v1/databases/${id}/restore, ` +
      "or make another with POST /v1/databases/provision",
  })

export const createTargets = (needs: {
  directory: Directory
  provision: Provision
  store: Pick<ReturnType<typeof databaseStore>, "findDeletedDefault">
}): Targets => ({
  async of(call, { database_id, branch_id }) {
    const query = {
      organizationId: call.organization.id,
      projectId: projectOf(call),
      databaseId: database_id ?? undefined,
      branchId: branch_id ?? undefined,
    }
    const found = await needs.directory.find(query)
    if (found) return found
    if (branch_id) throw fault("branch_not_found")
    if (database_id) throw fault("database_not_found")
    const deleted = await needs.store.findDeletedDefault(query.organizationId, query.projectId)
    if (deleted) throw lacksDefault(deleted)
    // Who may only read makes nothing, by a read either.
    if (call.readOnly || !holds(call.principal, "database:query")) throw fault("database_not_provisioned")
    await needs.provision.getOrCreate(call)
    const made = await needs.directory.find(query)
    if (!made) throw fault("database_not_found")
    return made
  },
})
