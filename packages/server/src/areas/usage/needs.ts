import type { AreaGiven } from "../../kernel/area.ts"
import { database } from "../../kernel/tokens.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database }
export type Needs = AreaGiven<typeof needs>
