import type pg from "pg"
import type { Queries } from "./objects.ts"

/** Runs the statements of `work` on one connection, all or none of them. */
export const inTransaction = async <Result>(
  pool: pg.Pool,
  work: (db: Queries) => Promise<Result>,
): Promise<Result> => {
  const client = await pool.connect()
  let broken: unknown
  try {
    await client.query("BEGIN")
    const result = await work(client as unknown as Queries)
    await client.query("COMMIT")
    return result
  } catch (error) {
    await client.query("ROLLBACK").catch(reason => {
      broken = reason
    })
    throw error
  } finally {
    client.release(broken !== undefined)
  }
}
