import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const aiText = defineModule({
  name: "ai-text",
  title: "AI on texts",
  contract: [areas.aiText],
  needs,
  state: () => ({
    status: "available",
    capabilities: { embedded: ["autocomplete", "grammar", "sentiment", "summarize", "vectorSearch"] },
  }),
  load: () => import("./area.ts"),
})
