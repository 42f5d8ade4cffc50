import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { operatorUpstreams } from "../../core/ai/settings.ts"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { aiModels } from "./offers.ts"
import { settings } from "./settings.ts"

export const ai = defineModule({
  name: "ai",
  title: "AI",
  contract: [areas.ai],
  settings,
  needs,
  migrations: { schema: "ai", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  provides: [aiModels],
  wakes: { rowsIn: ["ai.reservations"], queues: ["ai.expire"] },
  // Organizations may have upstreams of their own, and embeddings and speech need none.
  state: ({ settings }) => ({
    status: "available",
    capabilities: { upstreams: operatorUpstreams(settings).length, embedded: ["embeddings", "speech"] },
  }),
  load: () => import("./area.ts"),
})
