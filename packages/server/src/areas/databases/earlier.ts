import type { Database } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { EnginePort, PgVersion, RecoveryPoint, Tier } from "../../ports/engine/port.ts"
import type { ReadyBranch } from "./directory.ts"
import { type BranchRecord, databaseStore } from "./store.ts"

/**
 * Copies a branch at a point. After an in-place restore the branch's history begins anew and what came before is that
 * of the branch that was kept; a point that lies there is refused with the name of that branch.
 */
export type NamesEarlierHistory = <Result>(
  branch: ReadyBranch,
  point: RecoveryPoint,
  copy: () => Promise<Result>,
) => Promise<Result>

const volumeOf = ({ volume_id, pg_version, isolation }: BranchRecord) => ({
  id: volume_id,
  pgVersion: pg_version as PgVersion,
  tier: isolation as Tier,
})

export const createNamesEarlierHistory = (needs: {
  database: Database
  engine: EnginePort
}): NamesEarlierHistory => {
  const store = databaseStore(needs.database.db)

  const earliestOf = async (branch: BranchRecord): Promise<number> =>
    (await needs.engine.window(volumeOf(branch))).earliest?.getTime() ?? Number.POSITIVE_INFINITY

  /** The branch in whose history the time lies: of those that reach back to it the one that begins last. */
  const keptWith = async ({ organizationId, databaseId, branchId }: ReadyBranch, time: Date) => {
    const branches = await store.branchesOf(organizationId, databaseId)
    let found: { branch: BranchRecord; earliest: number } | undefined
    // What was kept has no parent.
    for (const branch of branches) {
      if (branch.id === branchId || branch.parent_id !== null || branch.state !== "ready") continue
      const earliest = await earliestOf(branch).catch(() => Number.POSITIVE_INFINITY)
      if (earliest <= time.getTime() && earliest > (found?.earliest ?? 0)) found = { branch, earliest }
    }
    return found?.branch
  }

  return async (branch, point, copy) => {
    try {
      return await copy()
    } catch (error) {
      if (point.kind !== "time" || !isFault(error, "recovery_point_invalid")) throw error
      const kept = await keptWith(branch, point.time)
      if (!kept) throw error
      const where = `this time lies in the history of branch ${kept.name}, which an earlier restore kept`
      const how = `restore with source_branch_id ${kept.id}`
      throw fault("recovery_point_invalid", { reason: `${where}; ${how}` }, { internal: error })
    }
  }
}
