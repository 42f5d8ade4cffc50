import { box, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, outbound } from "../../kernel/tokens.ts"
import { deliveries } from "../../services/deliveries/deliveries.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  box,
  outbound,
  platformEvents,
  deliveries,
}
export type Needs = AreaGiven<typeof needs>
