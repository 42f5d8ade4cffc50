/** Valid inputs of the operations that read schemas, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

/** A table in the project's default database. */
const newTable = async ({ key }: SampleWorld) => {
  const name = uniqueName()
  await key.sql.execute({ sql: `CREATE TABLE "${name}" (id integer PRIMARY KEY)` })
  return { name }
}

export const samples = { "schema.table": newTable } satisfies Readonly<Record<string, Sample>>
