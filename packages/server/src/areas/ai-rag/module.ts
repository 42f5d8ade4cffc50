import { fileURLToPath } from "node:url"
import { areas, RAG_FORMATS } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { passageFinder } from "./offers.ts"

export const rag = defineModule({
  name: "ai-rag",
  title: "Retrieval",
  contract: [areas.rag],
  needs,
  migrations: { schema: "ai_rag", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  keepsBlobs: [{ table: "ai_rag.documents", owner: "id", address: "address" }],
  provides: [passageFinder],
  wakes: { queues: ["rag.read"] },
  state: () => ({
    status: "available",
    capabilities: { embedded: ["bm25", "vector", "answer"], formats: [...RAG_FORMATS] },
  }),
  load: () => import("./area.ts"),
})
