import type { ResearchSourceName, ResearchStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { NumberedSource } from "./answers.ts"
import type { Material } from "./material.ts"
import type { Planned } from "./planning.ts"

export interface StepRecord {
  readonly round: number
  readonly query: string
  readonly goal: string
  readonly found: number
}

/** Where a research is: enough to go on from in another process. */
export interface RunState {
  /** The round that `waiting` belongs to. */
  readonly round: number
  readonly waiting: readonly Planned[]
  readonly found: readonly Material[]
}

export interface RunRow {
  readonly organization_id: string
  readonly project_id: string
  readonly id: string
  readonly query: string
  readonly status: ResearchStatus
  readonly status_reason: string | null
  readonly scope: readonly ResearchSourceName[]
  readonly breadth: number
  readonly depth: number
  readonly asked_technique: "extractive" | "abstractive" | null
  readonly asked_model: string | null
  readonly asked_language: string | null
  readonly state: RunState
  readonly steps: readonly StepRecord[]
  /** Steps that are expected in all. */
  readonly planned: number
  readonly sources: readonly NumberedSource[]
  readonly answer: string | null
  readonly technique: "extractive" | "abstractive" | null
  readonly model: string | null
  readonly method: "embedded" | "upstream" | null
  readonly warnings: readonly string[]
  readonly created_at: Date
  readonly deadline_at: Date
  readonly finished_at: Date | null
}

/** What a step or the end changes. */
export type RunChange = Partial<Omit<RunRow, "organization_id" | "project_id" | "id" | "created_at">>

const JSON_COLUMNS = ["state", "steps", "sources", "warnings"] as const

/** JSON columns are written as text. */
const written = (change: RunChange): Record<string, unknown> => {
  const values: Record<string, unknown> = { ...change }
  for (const name of JSON_COLUMNS) if (name in values) values[name] = JSON.stringify(values[name])
  return values
}

const UNFINISHED = ["queued", "running"] as const
const PRUNED_AT_ONCE = 1_000

/** Rows of ai_research.runs. Every statement names the project first. */
export const runStore = (db: Db) => {
  const own = (projectId: string) => db.selectFrom("ai_research.runs").where("project_id", "=", projectId)

  return {
    async insert({ state, steps, sources, warnings, scope, ...row }: RunRow): Promise<void> {
      const json = written({ state, steps, sources, warnings }) as Record<
        (typeof JSON_COLUMNS)[number],
        string
      >
      await db
        .insertInto("ai_research.runs")
        .values({ ...row, ...json, scope: [...scope] })
        .execute()
    },

    find: (projectId: string, id: string): Promise<RunRow | undefined> =>
      own(projectId).where("id", "=", id).selectAll().$castTo<RunRow>().executeTakeFirst(),

    list: (projectId: string, slice: Slice): Promise<{ rows: RunRow[]; total: number }> =>
      listRows(
        own(projectId).selectAll().orderBy("created_at", "desc").orderBy("id", "desc").$castTo<RunRow>(),
        slice,
      ),

    async countUnfinished(projectId: string): Promise<number> {
      const { count } = await own(projectId)
        .where("status", "in", UNFINISHED)
        .select(eb => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow()
      return Number(count)
    },

    /** False where the research is over or gone. */
    async advance(projectId: string, id: string, change: RunChange): Promise<boolean> {
      const { numUpdatedRows } = await db
        .updateTable("ai_research.runs")
        .set(written(change))
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .executeTakeFirst()
      return numUpdatedRows > 0
    },

    async delete(projectId: string, id: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("ai_research.runs")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0
    },
  }
}

/** Of all projects: those that are older than they are kept. */
export const pruneRuns = async (db: Db, before: Date): Promise<void> => {
  await sql`
    DELETE FROM ai_research.runs WHERE (project_id, id) IN (
      SELECT project_id, id FROM ai_research.runs WHERE created_at < ${before} LIMIT ${PRUNED_AT_ONCE})`.execute(
    db,
  )
}
