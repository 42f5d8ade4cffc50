import type { AreaGiven } from "../../kernel/area.ts"
import { database } from "../../kernel/tokens.ts"
import { usePrices } from "../billing/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, usePrices }
export type Needs = AreaGiven<typeof needs>
