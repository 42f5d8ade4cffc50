/** Sessions of one bare instance, pooled as the platform pools them. */
import { randomUUID } from "node:crypto"
import type { TestContext } from "node:test"
import type { PgVersion } from "../../../ports/engine/port.ts"
import { discardAll } from "../../../services/postgres/session-state.ts"
import {
  type SessionRole,
  type Sessions,
  STATEMENT_TIMEOUT_MS,
  sessionConfig,
} from "../../../services/postgres/sessions.ts"
import type { Target } from "../../../services/postgres/target.ts"
import { startCluster, type TestCluster } from "../../../testing/cluster.ts"
import { type Executed, type Execution, type ExecutorNeeds, execute } from "../executor.ts"
import { createGuard } from "../guard.ts"
import { createTypeCatalog } from "../pg-types.ts"

export const unlimited = () => ({
  rowsMax: 10_000,
  timeoutMs: STATEMENT_TIMEOUT_MS,
  budget: { bytesLeft: 10 * 1024 * 1024 },
  readOnly: false as const,
})

export interface SqlRig extends ExecutorNeeds {
  readonly cluster: TestCluster
  readonly target: Target
  run(sql: string, params?: readonly unknown[], execution?: Partial<Execution>): Promise<Executed>
  /** The rows as PostgreSQL's text. */
  rows(sql: string, params?: readonly unknown[], execution?: Partial<Execution>): Promise<unknown>
}

/** `connectionsMax` 1: every call gets the session of the call before. */
export const startSql = async (t: TestContext, version: PgVersion, connectionsMax = 1): Promise<SqlRig> => {
  const cluster = await startCluster(t, version)
  const poolOf = (role: SessionRole) => {
    const config = sessionConfig(role, version)
    return cluster.pool(config.user, {
      ...config,
      // There is no archiver here to wait for.
      options: `${config.options} -c synchronous_commit=local`,
      max: connectionsMax,
      types: { getTypeParser: () => (value: unknown) => value },
    })
  }
  const pools = { owner: poolOf("owner"), reader: poolOf("reader") }
  for (const pool of Object.values(pools))
    pool.on("connect", client => void client.on("error", () => undefined))
  const sessions: Sessions = {
    async use(_target, role, work, { cleaned = false } = {}) {
      const client = await pools[role].connect()
      try {
        const result = await work({ client, wakeMs: 0 })
        if (!cleaned) await discardAll(client)
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    },
  }
  const guard = createGuard()
  t.after(() => guard[Symbol.asyncDispose]())
  const id = randomUUID()
  const volume = { id, pgVersion: version, tier: "shared" } as const
  const target: Target = { organizationId: id, projectId: id, databaseId: id, branchId: id, volume }
  const needs: ExecutorNeeds = { sessions, guard, types: createTypeCatalog() }
  const run: SqlRig["run"] = (sql, params = [], execution = {}) =>
    execute(needs, target, { sql, params }, { ...unlimited(), ...execution })
  return {
    ...needs,
    cluster,
    target,
    run,
    rows: async (...input) => (await run(...input)).result.rows,
  }
}
