import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, inProcess, isOwnOrigin } from "../../kernel/tokens.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { baseUrl, clock, inProcess, isOwnOrigin }
export type Needs = AreaGiven<typeof needs>
