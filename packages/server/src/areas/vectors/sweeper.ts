/** Forgets deletions that every index has had time to hear of, and removes what deleted collections leave behind. */
import { sql } from "kysely"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { VectorIndexPort } from "../../ports/vectors/port.ts"

/** An index that was not asked for so long starts anew. */
const REMEMBERED_MS = 24 * 3_600_000
const SWEEP_EVERY_MS = 60_000
const SWEEP_MS_MAX = 600_000
/** Rows of one statement, and collections of one sweep. */
const ROWS_MAX = 5_000
const COLLECTIONS_MAX = 50

export interface SweepNeeds {
  readonly database: Database
  readonly index: VectorIndexPort
  readonly clock: Clock
  readonly jobs: Jobs
}

export const scheduleSweeps = ({ database, index, clock, jobs }: SweepNeeds): void => {
  const { db } = database

  const forgetDeletions = async (collectionId: string, before: Date): Promise<void> =>
    database.transaction(async tx => {
      // The collection first, as every writer does.
      await tx
        .selectFrom("vectors.collections")
        .select("id")
        .where("id", "=", collectionId)
        .forUpdate()
        .execute()
      await sql`
        WITH forgotten AS (
          DELETE FROM vectors.vectors WHERE collection_id = ${collectionId} AND id IN (
            SELECT id FROM vectors.vectors
            WHERE collection_id = ${collectionId} AND deleted_at < ${before} LIMIT ${ROWS_MAX}
          ) RETURNING seq
        )
        UPDATE vectors.collections
        SET forgotten_seq = greatest(forgotten_seq, (SELECT max(seq) FROM forgotten))
        WHERE id = ${collectionId}`.execute(tx)
    })

  const sweepDeletions = async (): Promise<void> => {
    const before = new Date(clock.now() - REMEMBERED_MS)
    const collections = await db
      .selectFrom("vectors.vectors")
      .select("collection_id")
      .distinct()
      .where("deleted_at", "<", before)
      .where("collection_id", "not in", db.selectFrom("vectors.dropped").select("collection_id"))
      .limit(COLLECTIONS_MAX)
      .execute()
    for (const { collection_id } of collections) await forgetDeletions(collection_id, before)
  }

  /** False when more of its rows are left. */
  const removeRows = async (collectionId: string): Promise<boolean> => {
    const { numDeletedRows } = await db
      .deleteFrom("vectors.vectors")
      .where("collection_id", "=", collectionId)
      .where("id", "in", inner =>
        inner
          .selectFrom("vectors.vectors as vector")
          .select("vector.id")
          .where("vector.collection_id", "=", collectionId)
          .limit(ROWS_MAX),
      )
      .executeTakeFirst()
    return numDeletedRows < BigInt(ROWS_MAX)
  }

  const sweepDropped = async (): Promise<void> => {
    const dropped = await db
      .selectFrom("vectors.dropped")
      .select("collection_id")
      .orderBy("dropped_at")
      .limit(COLLECTIONS_MAX)
      .execute()
    for (const { collection_id } of dropped) {
      if (!(await removeRows(collection_id))) return
      await index.drop(collection_id)
      await db.deleteFrom("vectors.dropped").where("collection_id", "=", collection_id).execute()
    }
  }

  jobs.schedule({
    ...{ name: "vectors.sweep", every: SWEEP_EVERY_MS, timeoutMs: SWEEP_MS_MAX },
    async run() {
      await sweepDeletions()
      await sweepDropped()
    },
  })
}
