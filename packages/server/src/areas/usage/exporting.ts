import { Readable } from "node:stream"
import { isMeter, meters } from "@svc/contract"
import { NONE } from "../../core/meters/meters.ts"
import type { Days, UsageRow, usageStore } from "../../core/meters/store.ts"
import { csvLine } from "../../kernel/csv.ts"

/** Rows read at a time: what a slow reader makes wait. */
const PAGE_ROWS = 1_000

const HEADER = ["day", "metric", "unit", "quantity", "key_id", "project_id"]

const present = (id: string): string | null => (id === NONE ? null : id)

const unitOf = (metric: string): string => (isMeter(metric) ? meters[metric].unit : "")

const toCsv = ({ day, metric, quantity, key_id, project_id }: UsageRow): string =>
  csvLine([day, metric, unitOf(metric), quantity, present(key_id), present(project_id)])

const toJson = ({ day, metric, quantity, key_id, project_id }: UsageRow): string =>
  `${JSON.stringify({
    ...{ day, metric, unit: unitOf(metric), quantity },
    ...{ key_id: present(key_id), project_id: present(project_id) },
  })}\n`

/** The rows of an organization as a file. Each piece is a statement of its own, so that no reader holds a transaction open. */
export const exportRows = (
  store: Pick<ReturnType<typeof usageStore>, "rowsAfter">,
  organizationId: string,
  days: Days,
  format: "csv" | "jsonl",
): Readable => {
  const pieces = async function* () {
    if (format === "csv") yield csvLine(HEADER)
    let last: UsageRow | undefined
    for (;;) {
      const rows: UsageRow[] = await store.rowsAfter(organizationId, days, last, PAGE_ROWS)
      if (rows.length > 0) yield rows.map(format === "csv" ? toCsv : toJson).join("")
      if (rows.length < PAGE_ROWS) return
      last = rows.at(-1)
    }
  }
  return Readable.from(pieces(), { objectMode: false })
}
