import { atRest, box, keys, meters, scheduleTargets } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, jobs, log, outbound, stopping } from "../../kernel/tokens.ts"
import { deliveries } from "../../services/deliveries/deliveries.ts"
import { functionCaller } from "../functions/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  jobs,
  deliveries,
  box,
  outbound,
  functions: functionCaller,
  meters,
  log,
  scheduleTargets,
  keys,
  stopping,
  atRest,
}
export type Needs = AreaGiven<typeof needs>
