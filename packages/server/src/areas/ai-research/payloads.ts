import type { ResearchRunPayload } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { RunRow } from "./store.ts"

const isOver = ({ status }: RunRow): boolean => status !== "queued" && status !== "running"

export const summaryOf = (row: RunRow) => ({
  ...{ id: row.id, query: row.query, status: row.status, status_reason: row.status_reason },
  progress:
    row.status === "completed" ? 1 : Math.round((100 * row.steps.length) / Math.max(1, row.planned)) / 100,
  created_at: row.created_at.toISOString(),
  deadline_at: row.deadline_at.toISOString(),
  finished_at: isOver(row) ? toIso(row.finished_at) : null,
})

export const payloadOf = (row: RunRow): ResearchRunPayload => ({
  ...summaryOf(row),
  ...{ answer: row.answer, sources: [...row.sources], technique: row.technique, model: row.model },
  ...{ method: row.method, warnings: [...row.warnings], steps: [...row.steps] },
  ...{ breadth: row.breadth, depth: row.depth, scope: [...row.scope] },
})
