import type { CronTargetOf } from "@svc/contract"
import type { ScheduledOutcome, ScheduleOwner, ScheduleTarget } from "../../core/schedule-targets.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { BranchServers } from "../databases/offers.ts"
import { type ExecutorNeeds, execute } from "./executor.ts"

/** Rows that are read of what a statement returns: its owner asked for an effect. */
const ROWS_MAX = 1
const RESULT_BYTES_MAX = 65_536

/** Statements that schedules run, as the role that owns the database. */
export const createScheduledStatements = (
  needs: ExecutorNeeds & { readonly servers: Pick<BranchServers, "find"> },
): ScheduleTarget<"sql"> => {
  const find = async ({ organizationId, projectId }: ScheduleOwner, { database_id }: CronTargetOf<"sql">) => {
    if (projectId === null) throw fault("project_required")
    const databaseId = database_id ?? undefined
    const target = await needs.servers.find({ organizationId, projectId, databaseId })
    if (!target) throw fault("database_not_found")
    return target
  }

  const run: ScheduleTarget<"sql">["run"] = async (
    { timeoutMs, signal, ...owner },
    given,
  ): Promise<ScheduledOutcome> => {
    try {
      const { result } = await execute(
        needs,
        await find(owner, given),
        { sql: given.statement, params: [] },
        { readOnly: false, rowsMax: ROWS_MAX, timeoutMs, budget: { bytesLeft: RESULT_BYTES_MAX }, signal },
      )
      const { command, rowCount } = result
      return { status: "succeeded", responseBody: JSON.stringify({ command, row_count: rowCount }) }
    } catch (error) {
      if (isFault(error, "query_timeout")) return { status: "timed_out", error: error.message }
      throw error
    }
  }

  return {
    scope: "database:query",
    check: async (owner, given) => void (await find(owner, given)),
    async risk({ statement }) {
      const risk = await needs.guard.risk(statement)
      return risk && `${risk}: ${statement}`
    },
    run,
  }
}
