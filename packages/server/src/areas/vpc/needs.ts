import { box } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, installation, log, outbound } from "../../kernel/tokens.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, changes, clock, log, box, outbound, installation }
export type Needs = AreaGiven<typeof needs, typeof settings>
