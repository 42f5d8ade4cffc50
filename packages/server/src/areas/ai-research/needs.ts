import { meters } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, jobs, log, outbound } from "../../kernel/tokens.ts"
import { aiModels } from "../ai/offers.ts"
import { passageFinder } from "../ai-rag/offers.ts"
import { indexFinder } from "../search/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  ...{ changes, clock, database, jobs, log, meters, outbound },
  ...{ models: aiModels, passages: passageFinder, index: indexFinder },
}
export type Needs = AreaGiven<typeof needs, typeof settings>
