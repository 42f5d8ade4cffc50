import type { Database } from "../../kernel/db/database.ts"
import type { Audit, AuditEntry } from "../../kernel/needs.ts"
import { appendEntry } from "./chain.ts"

interface Rollup {
  readonly entry: AuditEntry
  count: number
  untilMs: number
}

/** Kinds of event held between two flushes; more than this are written early. */
const ROLLUPS_MAX = 10_000

const kindOf = ({ tenantId, action, outcome, actor, context, metadata }: AuditEntry): string =>
  [tenantId, action, outcome, actor.id, context.project_id, metadata.code].join("|")

export interface AuditTrail extends Audit {
  /** Writes the counts that gathered. Called every second and when the platform stops. */
  flush(): Promise<void>
}

export const createAudit = (database: Database): AuditTrail => {
  let rollups = new Map<string, Rollup>()

  const keep = (rollup: Rollup) => {
    const kind = kindOf(rollup.entry)
    const known = rollups.get(kind)
    if (!known) return void rollups.set(kind, rollup)
    known.count += rollup.count
    known.untilMs = Math.max(known.untilMs, rollup.untilMs)
  }

  const write = async (gathered: readonly Rollup[]) => {
    // In the order of tenants: two processes that flush at once lock the heads in the same order.
    const ordered = [...gathered].sort((a, b) => (a.entry.tenantId < b.entry.tenantId ? -1 : 1))
    await database.transaction(async tx => {
      for (const { entry, count, untilMs } of ordered) {
        const metadata = { ...entry.metadata, count, until: new Date(untilMs).toISOString() }
        await appendEntry(tx, { ...entry, metadata })
      }
    })
  }

  const flush = async () => {
    if (rollups.size === 0) return
    const gathered = [...rollups.values()]
    rollups = new Map()
    try {
      await write(gathered)
    } catch (error) {
      for (const rollup of gathered) keep(rollup)
      throw error
    }
  }

  return {
    append: appendEntry,
    count(entry) {
      keep({ entry, count: 1, untilMs: entry.occurredAt.getTime() })
      if (rollups.size > ROLLUPS_MAX) flush().catch(() => undefined)
    },
    flush,
  }
}
