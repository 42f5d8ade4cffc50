import type { AreaGiven } from "../../kernel/area.ts"
import type { Offer } from "../../kernel/offer.ts"
import { type AiModels, aiModels } from "../ai/offers.ts"
import type { Engines } from "./engines.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { models: aiModels }
export type Needs = AreaGiven<typeof needs>

/** What its handlers answer with. */
export interface AiTextNeeds {
  readonly models: Offer<AiModels>
  readonly engines: Engines
}
