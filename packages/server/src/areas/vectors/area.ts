import { fileURLToPath } from "node:url"
import type { AreaState } from "../../kernel/area.ts"
import type { VectorIndexPort } from "../../ports/vectors/port.ts"
import { defineArea } from "../../services.ts"
import { vectorHandlers } from "./handlers.ts"
import { createKeeper } from "./keeper.ts"
import { createVectorQuota } from "./quota.ts"
import { scheduleSweeps } from "./sweeper.ts"

export const vectorsArea = defineArea({
  name: "vectors",
  title: "Vectors",
  needs: ["database", "vectors", "clock", "log", "jobs"],
  migrations: { schema: "vectors", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start({ database, vectors: index, clock, log, jobs }) {
    const keeper = createKeeper({ index, database, log })
    scheduleSweeps({ database, index, clock, jobs })
    return {
      operations: vectorHandlers({ database, index, keeper, quota: createVectorQuota(database.db, clock) }),
      state: () => stateOf(index),
    }
  },
})

const stateOf = async (index: VectorIndexPort): Promise<AreaState> => {
  const capabilities = { ...index.capabilities, in_memory: index.usage() }
  if ((await index.health()).ok) return { status: "available", capabilities }
  // Every tenant may read this; what the engine says of itself is for the log alone.
  const reason = "the vector engine does not answer"
  return { status: "degraded", reason, setting: "SVC_QDRANT_URL", capabilities }
}
