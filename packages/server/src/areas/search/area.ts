import { provide } from "../../kernel/token.ts"
import { createIndexFinder } from "./finder-offer.ts"
import { createFreshness } from "./freshness.ts"
import { searchHandlers } from "./handlers.ts"
import { createIngest } from "./ingest.ts"
import type { Needs } from "./needs.ts"
import { indexFinder } from "./offers.ts"
import { readDatabase } from "./sources/database.ts"
import { readStorage } from "./sources/storage.ts"
import { readUrls } from "./sources/url.ts"
import { createWriter } from "./writer.ts"

export const start = ({ database, clock, jobs, search: index, outbound, tables, objects }: Needs) => {
  const freshness = createFreshness()
  const writer = createWriter({ database, index, now: clock.now, freshness })
  const readers = { database: readDatabase(tables), storage: readStorage(objects), url: readUrls(outbound) }
  const ingest = createIngest({ database, jobs, clock, index, writer, readers })
  const { urlProblem } = outbound
  return {
    operations: searchHandlers({ database, index, writer, ingest, freshness, now: clock.now, urlProblem }),
    provides: [provide(indexFinder, createIndexFinder(database.db, index))],
  }
}
