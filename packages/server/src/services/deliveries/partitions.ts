import { sql } from "kysely"
import type { Database, Db } from "../../kernel/db/database.ts"
import { buryOld } from "./pending.ts"

const DAY_MS = 86_400_000
/** How long messages and finished deliveries are kept. */
const RETENTION_DAYS = 30
/** What still waits is buried before the day that it belongs to is dropped. */
const WAITING_DAYS_MAX = RETENTION_DAYS - 2
const DAYS_AHEAD = 3

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/**
 * Makes the partitions of today and the next days; gives whether they were there. Ids are made from the system's time, so it
 * is that which counts. Looks before it locks: usually they are there.
 */
const addDays = async (db: Db): Promise<boolean> => {
  const days = Array.from({ length: DAYS_AHEAD }, (_, ahead) => dayOf(Date.now() + ahead * DAY_MS))
  const tables = days.flatMap(day =>
    ["messages", "finished"].map(table => `deliveries.${table}_${day.replaceAll("-", "")}`),
  )
  const { rows } = await sql<{ areThere: boolean }>`
    SELECT bool_and(to_regclass(name) IS NOT NULL) AS "areThere" FROM unnest(${tables}::text[]) AS t (name)`.execute(
    db,
  )
  if (rows[0]?.areThere) return true
  await sql`SELECT deliveries.add_days(${days[0]}::date, ${DAYS_AHEAD}::int)`.execute(db)
  return false
}

/** The partitions of messages and of finished deliveries, one a day. */
export interface Days {
  /**
   * Makes those of today and the next days where they are missing; one query a day where they are not. On the connection of
   * the caller: in a burst of writes its transactions hold all others, and would wait for one that none gives back.
   */
  ensure(db: Db): Promise<void>
}

export const createDays = (): Days => {
  let seenOn = ""

  return {
    async ensure(db) {
      const today = dayOf(Date.now())
      if (seenOn === today) return
      // Those made here exist for others once this transaction commits, if it does: the next caller looks again.
      if (await addDays(db)) seenOn = today
    },
  }
}

/** Drops what is older than it is kept. */
const dropOldDays = async (db: Db, nowMs: number): Promise<void> => {
  await buryOld(db, new Date(nowMs), new Date(nowMs - WAITING_DAYS_MAX * DAY_MS))
  await sql`SELECT deliveries.drop_days(${dayOf(nowMs - RETENTION_DAYS * DAY_MS)}::date)`.execute(db)
}

/** Once an hour: what is old goes, and the next days are made. */
export const turnDays = (database: Database, nowMs: number): Promise<void> =>
  database.transaction(async tx => {
    await dropOldDays(tx, nowMs)
    await addDays(tx)
  })
