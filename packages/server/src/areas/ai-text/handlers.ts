import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import type { AiTextNeeds } from "./needs.ts"
import { createSentiment } from "./sentiment.ts"
import { createSummary } from "./summary.ts"

export const aiTextHandlers = implement(areas.aiText, (needs: AiTextNeeds) => ({
  sentiment: createSentiment(needs),
  summarize: createSummary(needs),
}))
