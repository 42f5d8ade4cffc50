import { after, before, type TestContext } from "node:test"
import { listenForChanges } from "../../kernel/db/changes.ts"
import { openDatabase } from "../../kernel/db/database.ts"
import { createDatabaseFanout } from "../../kernel/db/fanout.ts"
import { createLog } from "../../kernel/log.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { fanoutConformance } from "./conformance.ts"

let database: Awaited<ReturnType<typeof cloneDatabase>>

before(async () => {
  database = await cloneDatabase()
})
after(() => database[Symbol.asyncDispose]())

const open = async (t: TestContext) => {
  const { url: connectionString } = database
  // Connections are closed before their database is dropped.
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const { db } = opened.use(openDatabase({ connectionString, connectionsMax: 2, onError: () => undefined }))
  return createDatabaseFanout(db, opened.use(await listenForChanges(connectionString, createLog("silent"))))
}

fanoutConformance("PostgreSQL", { open }, {})
