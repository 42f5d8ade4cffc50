import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, log } from "../../kernel/tokens.ts"
import { loadBalancers } from "../lb/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, changes, clock, log, loadBalancers }
export type Needs = AreaGiven<typeof needs, typeof settings>
