import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { createAutocomplete } from "./autocomplete.ts"
import { createGrammar } from "./grammar.ts"
import type { AiTextNeeds } from "./needs.ts"
import { createSentiment } from "./sentiment.ts"
import { createSummary } from "./summary.ts"
import { createTranslation } from "./translation.ts"
import { createVectorSearch } from "./vector-search.ts"

export const aiTextHandlers = implement(areas.aiText, (needs: AiTextNeeds) => ({
  autocomplete: createAutocomplete(needs),
  grammar: createGrammar(needs),
  sentiment: createSentiment(needs),
  summarize: createSummary(needs),
  translate: createTranslation(needs),
  vectorSearch: createVectorSearch(needs),
}))
