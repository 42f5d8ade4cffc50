import { after, before } from "node:test"
import pg from "pg"
import { cloneDatabase } from "../../testing/database.ts"
import { searchConformance } from "./conformance.ts"
import { openPostgresSearch } from "./drivers/postgres/driver.ts"

let database: Awaited<ReturnType<typeof cloneDatabase>>
let pool: pg.Pool

before(async () => {
  database = await cloneDatabase()
  pool = new pg.Pool({
    connectionString: database.url,
    max: 8,
    types: {
      getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as "text")),
    },
  })
  pool.on("error", () => undefined)
})

after(async () => {
  await pool.end()
  await database[Symbol.asyncDispose]()
})

searchConformance("PostgreSQL", async t => {
  await pool.query("TRUNCATE search.documents, search.words, search.languages")
  const port = await openPostgresSearch({ pool })
  t.after(() => port[Symbol.asyncDispose]())
  return port
})
