import { fileURLToPath } from "node:url"
import { defineArea } from "../../services.ts"
import { createFreshness } from "./freshness.ts"
import { searchHandlers } from "./handlers.ts"
import { createIngest } from "./ingest.ts"
import { readDatabase } from "./sources/database.ts"
import { readStorage } from "./sources/storage.ts"
import { readUrls } from "./sources/url.ts"
import { createWriter } from "./writer.ts"

export const searchArea = defineArea({
  name: "search",
  title: "Search",
  needs: ["database", "clock", "jobs", "search", "outbound", "tables", "objects"],
  migrations: { schema: "search", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start({ database, clock, jobs, search: index, outbound, tables, objects }) {
    const freshness = createFreshness()
    const writer = createWriter({ database, index, now: clock.now, freshness })
    const readers = { database: readDatabase(tables), storage: readStorage(objects), url: readUrls(outbound) }
    const ingest = createIngest({ database, jobs, clock, index, writer, readers })
    const { urlProblem } = outbound
    return {
      operations: searchHandlers({ database, index, writer, ingest, freshness, now: clock.now, urlProblem }),
      async state() {
        const capabilities = { ...index.capabilities }
        if ((await index.health()).ok) return { status: "available", capabilities }
        // Every tenant may read this; what the engine says of itself is for the log alone.
        return {
          status: "degraded",
          reason: "the search engine does not answer",
          setting: "SVC_OPENSEARCH_URL",
        }
      },
    }
  },
})
