import { box, meters } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, jobs, log, outbound } from "../../kernel/tokens.ts"
import { ledger as money } from "../../services/ledger/token.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { box, changes, clock, database, jobs, log, meters, money, outbound }
export type Needs = AreaGiven<typeof needs, typeof settings>
