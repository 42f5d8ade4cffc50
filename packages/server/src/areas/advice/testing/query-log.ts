import { readFile } from "node:fs/promises"
import type pg from "pg"

const MIGRATION = new URL("../../databases/migrations/0002_query_log.sql", import.meta.url)

/** The table of the query log, as its migration makes it, in a database that has nothing else of the platform. */
export const createQueryLog = async (pool: pg.Pool): Promise<void> => {
  await pool.query("CREATE SCHEMA databases")
  await pool.query(await readFile(MIGRATION, "utf8"))
}
