import { Readable } from "node:stream"
import { type EventRow, hashedText, toEntry } from "../../core/audit/chain.ts"
import type { AuditFilter, auditStore } from "../../core/audit/store.ts"
import { csvLine } from "../../kernel/csv.ts"

/** Events read at a time. */
const PAGE_ROWS = 500

const HEADER = [
  ...[
    "sequence",
    "id",
    "action",
    "occurred_at",
    "outcome",
    "actor_type",
    "actor_id",
    "actor_name",
    "targets",
  ],
  ...["ip", "user_agent", "request_id", "key_id", "project_id", "metadata", "prev_hash", "hash"],
]

const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value)

const toCsv = (row: EventRow): string => {
  const { actor, targets, context, metadata } = toEntry(row)
  return csvLine([
    ...[row.sequence, row.id, row.action, row.occurred_at.toISOString(), row.outcome],
    ...[actor.type, actor.id, actor.name, JSON.stringify(targets)],
    ...["ip", "user_agent", "request_id", "key_id", "project_id"].map(name => textOf(context[name])),
    ...[JSON.stringify(metadata), row.prev_hash.toString("hex"), row.hash.toString("hex")],
  ])
}

/**
 * The text that was hashed, with both hashes in front of its first field: who takes them away by their length has exactly
 * what was hashed, and needs no canonical JSON of their own.
 */
const toJsonLine = (row: EventRow): string => {
  const [before, own] = [row.prev_hash.toString("hex"), row.hash.toString("hex")]
  return `{"prev_hash":"${before}","hash":"${own}",${hashedText(toEntry(row)).slice(1)}\n`
}

interface Export {
  readonly tenantId: string
  readonly filter: AuditFilter
  readonly format: "csv" | "jsonl"
  /** The last event of the file. */
  readonly upTo: number
}

/** The events as a file. Entries never change, so a piece a statement gives what one statement would. */
export const exportEvents = (
  store: Pick<ReturnType<typeof auditStore>, "after">,
  { tenantId, filter, format, upTo }: Export,
): Readable => {
  const pieces = async function* () {
    if (format === "csv") yield csvLine(HEADER)
    let after = 0
    for (;;) {
      const rows = await store.after(tenantId, filter, { after, upTo, limit: PAGE_ROWS })
      if (rows.length > 0) yield rows.map(format === "csv" ? toCsv : toJsonLine).join("")
      if (rows.length < PAGE_ROWS) return
      after = rows.at(-1)?.sequence ?? upTo
    }
  }
  return Readable.from(pieces(), { objectMode: false })
}
