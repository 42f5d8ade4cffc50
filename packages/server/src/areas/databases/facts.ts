import type { Db } from "../../kernel/db/database.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { Directory } from "./directory.ts"
import type { BranchFacts } from "./offers.ts"

/** Connections that a server takes from others than its superuser. */
const USABLE_CONNECTIONS = 95

const WEEK_MS = 7 * 86_400_000
const MS_PER_HOUR = 3_600_000

/** What the platform knows of a branch and its server does not. */
export const createFacts =
  (needs: { db: Db; directory: Directory; now: () => number }) =>
  async (target: Target): Promise<BranchFacts> => {
    const { db, directory } = needs
    const branch = await directory.find(target)
    const now = needs.now()
    const from = new Date(now - WEEK_MS)
    const wakes = await db
      .selectFrom("databases.wakes")
      .select(["started_at", "ended_at"])
      .where("organization_id", "=", target.organizationId)
      .where("branch_id", "=", target.branchId)
      .where("started_at", ">=", from)
      .execute()
    const awakeMs = wakes.reduce(
      (sum, { started_at, ended_at }) => sum + (ended_at?.getTime() ?? now) - started_at.getTime(),
      0,
    )
    const size = await db
      .selectFrom("databases.volumes")
      .select(["physical_size_bytes", "history_size_bytes"])
      .where("organization_id", "=", target.organizationId)
      .where("id", "=", target.volume.id)
      .executeTakeFirst()
    return {
      tier: target.volume.tier,
      suspendTimeoutSeconds: branch?.suspendTimeoutSeconds ?? 0,
      historyRetentionSeconds: branch?.historyRetentionSeconds ?? 0,
      wakes: { count: wakes.length, hoursAwake: awakeMs / MS_PER_HOUR },
      physicalBytes: size?.physical_size_bytes ?? 0,
      historyBytes: size?.history_size_bytes ?? 0,
      connectionsMax: USABLE_CONNECTIONS,
    }
  }
