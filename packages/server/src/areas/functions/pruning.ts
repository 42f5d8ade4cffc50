import { FUNCTION_INVOCATIONS_KEPT, FUNCTION_RETENTION_DAYS } from "@svc/contract"
import { sql } from "kysely"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { FUNCTION_TOPIC } from "./directory.ts"
import { functionStore } from "./store.ts"

export const PRUNE_EVERY_MS = 600_000
const DAY_MS = 86_400_000
const STEP_MAX = 5_000
/** Lines that are kept of one function, the newest. */
const LINES_KEPT = 100_000
/** Code that was stored a moment ago may belong to a deployment under way. */
const CODE_AGE_MS_MIN = 3_600_000

const drain = async (db: Db, table: string, chosen: ReturnType<typeof sql>) => {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      DELETE FROM ${sql.table(table)} WHERE id = ANY(ARRAY(${chosen}))`.execute(db)
    if (numAffectedRows < STEP_MAX) return
  }
}

/** Forgets invocations and lines that are too old or too many, and code that no version has, in short steps. */
export const pruneFunctions = async (db: Db, nowMs: number): Promise<void> => {
  const before = new Date(nowMs - FUNCTION_RETENTION_DAYS * DAY_MS)
  const invocations = "functions.invocations"
  await drain(
    db,
    invocations,
    sql`SELECT id FROM functions.invocations WHERE created_at < ${before} LIMIT ${STEP_MAX}`,
  )
  await drain(
    db,
    invocations,
    sql`SELECT surplus.id FROM functions.functions AS f CROSS JOIN LATERAL (
        SELECT id FROM functions.invocations AS i WHERE i.function_id = f.id AND i.status NOT IN ('queued', 'running')
        ORDER BY created_at DESC, id DESC OFFSET ${FUNCTION_INVOCATIONS_KEPT}
      ) AS surplus LIMIT ${STEP_MAX}`,
  )
  await drain(db, "functions.logs", sql`SELECT id FROM functions.logs WHERE at < ${before} LIMIT ${STEP_MAX}`)
  await drain(
    db,
    "functions.logs",
    sql`SELECT surplus.id FROM functions.functions AS f CROSS JOIN LATERAL (
        SELECT id FROM functions.logs AS l WHERE l.function_id = f.id ORDER BY id DESC OFFSET ${LINES_KEPT}
      ) AS surplus LIMIT ${STEP_MAX}`,
  )
  await sql`
    DELETE FROM functions.codes AS code WHERE created_at < ${new Date(nowMs - CODE_AGE_MS_MIN)} AND NOT EXISTS (
      SELECT FROM functions.versions AS v WHERE v.organization_id = code.organization_id AND v.code_sha256 = code.sha256
    )`.execute(db)
}

/** Few at once: each takes its invocations and lines with it. */
const ORPHANS_STEP_MAX = 20

/** Deletes what projects and organizations had that were deleted; their code goes as that of no version. */
export const removeOrphans = async (db: Db, changes: Changes): Promise<void> => {
  for (;;) {
    const ids = await functionStore(db).listOrphans(ORPHANS_STEP_MAX)
    if (ids.length === 0) return
    await functionStore(db).deleteOrphans(ids)
    for (const id of ids) await changes.invalidate(db, FUNCTION_TOPIC, id)
  }
}
