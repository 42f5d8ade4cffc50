import type { AreaGiven } from "../../kernel/area.ts"
import { clock, database, jobs } from "../../kernel/tokens.ts"
import { blob } from "../../ports/blob/port.ts"
import { aiModels } from "../ai/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, clock, jobs, blob, models: aiModels }
export type Needs = AreaGiven<typeof needs>
