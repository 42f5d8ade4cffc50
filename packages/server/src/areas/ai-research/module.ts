import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const research = defineModule({
  name: "ai-research",
  title: "Research",
  contract: [areas.research],
  settings,
  needs,
  migrations: { schema: "ai_research", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { queues: ["research.run", "research.prune"] },
  state: ({ settings }) => ({
    status: "available",
    capabilities: {
      sources: ["search", "documents", ...(settings.searxngUrl === undefined ? [] : ["web"])],
    },
  }),
  load: () => import("./area.ts"),
})
