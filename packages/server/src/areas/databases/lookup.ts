import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { type BranchRecord, type DatabaseRecord, databaseStore } from "./store.ts"

/** The project of a call that cannot be made without one. */
export const projectOf = ({ project }: Call): string => {
  if (!project) throw fault("project_required")
  return project.id
}

/** Active or deleted; another project's answers like none. */
export const getDatabase = async (call: Call, id: string): Promise<DatabaseRecord> => {
  const { db, organization } = call
  const found = isUuid(id) ? await databaseStore(db).find(organization.id, projectOf(call), id) : undefined
  if (!found) throw fault("database_not_found")
  return found
}

export const getActive = async (call: Call, id: string): Promise<DatabaseRecord> => {
  const found = await getDatabase(call, id)
  if (found.state !== "active") throw fault("database_not_found")
  return found
}

export const getBranch = async (
  { db, organization }: Call,
  database: DatabaseRecord,
  id: string,
): Promise<BranchRecord> => {
  const found = isUuid(id) ? await databaseStore(db).findBranch(organization.id, database.id, id) : undefined
  if (found?.state !== "ready") throw fault("branch_not_found")
  return found
}

export const databaseTarget = ({ id, name }: { id: string; name: string }) => ({
  type: "database",
  id,
  name,
})

export const branchTarget = ({ id, name }: { id: string; name: string }) => ({
  type: "database_branch",
  id,
  name,
})
