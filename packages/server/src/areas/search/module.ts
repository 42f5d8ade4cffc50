import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { indexFinder } from "./offers.ts"

export const search = defineModule({
  name: "search",
  title: "Search",
  contract: [areas.search],
  needs,
  migrations: { schema: "search", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  provides: [indexFinder],
  wakes: { queues: ["search.read", "search.remove", "search.tick"] },
  async state({ search: index }) {
    const capabilities = { ...index.capabilities }
    if ((await index.health()).ok) return { status: "available", capabilities }
    // Every tenant may read this; what the engine says of itself is for the log alone.
    return { status: "degraded", reason: "the search engine does not respond", setting: "SVC_OPENSEARCH_URL" }
  },
  load: () => import("./area.ts"),
})
