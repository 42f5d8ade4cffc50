/** Reading in a session without changing what it is set to. */
import pg from "pg"

/** One query with values as pg converts them, whatever converters the session's pool was made with. */
export const ask = async <Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> => {
  const { rows } = await client.query<Row>({ text, values: [...values], types: pg.types })
  return rows
}

/** Runs in a transaction that cannot write and is rolled back, and in which no statement runs longer than the limit. */
export const inReadOnly = async <Result>(
  client: pg.ClientBase,
  timeoutMs: number,
  work: () => Promise<Result>,
): Promise<Result> => {
  await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}`)
  try {
    return await work()
  } finally {
    await client.query("ROLLBACK")
  }
}
