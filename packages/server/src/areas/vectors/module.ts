import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const vectors = defineModule({
  name: "vectors",
  title: "Vectors",
  contract: [areas.vectors],
  needs,
  migrations: { schema: "vectors", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["vectors.sweep"] },
  async state({ vectors: index }) {
    const capabilities = { ...index.capabilities, in_memory: index.usage() }
    if ((await index.health()).ok) return { status: "available", capabilities }
    // Every tenant may read this; what the engine says of itself is for the log alone.
    const reason = "the vector engine does not answer"
    return { status: "degraded", reason, setting: "SVC_QDRANT_URL", capabilities }
  },
  load: () => import("./area.ts"),
})
