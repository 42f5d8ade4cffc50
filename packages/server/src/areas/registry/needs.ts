import type { AreaGiven } from "../../kernel/area.ts"
import { clock, database, log } from "../../kernel/tokens.ts"
import { blob } from "../../ports/blob/port.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, blob, clock, log }
export type Needs = AreaGiven<typeof needs>
