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

  /** A tenant at a time: one whose chain is held up does not hold up the others. */
  const write = (gathered: readonly Rollup[]) =>
    database.transaction(async tx => {
      for (const { entry, count, untilMs } of gathered) {
        const metadata = { ...entry.metadata, count, until: new Date(untilMs).toISOString() }
        await appendEntry(tx, { ...entry, metadata })
      }
    })

  const flush = async () => {
    const byTenant = Map.groupBy(rollups.values(), ({ entry }) => entry.tenantId)
    rollups = new Map()
    const failures: unknown[] = []
    for (const gathered of byTenant.values()) {
      await write(gathered).catch(error => {
        gathered.forEach(keep)
        failures.push(error)
      })
    }
    if (failures.length > 0) throw failures[0]
  }

  return {
    append: (db, entry) =>
      db.isTransaction ? appendEntry(db, entry) : database.transaction(tx => appendEntry(tx, entry)),
    count(entry) {
      keep({ entry, count: 1, untilMs: entry.occurredAt.getTime() })
      if (rollups.size > ROLLUPS_MAX) flush().catch(() => undefined)
    },
    flush,
  }
}
