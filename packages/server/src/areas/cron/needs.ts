import { box, platformEvents, scheduleTargets } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, jobs, log, outbound, retryDelayFactor } from "../../kernel/tokens.ts"
import { functionCaller } from "../functions/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  jobs,
  outbound,
  box,
  platformEvents,
  scheduleTargets,
  retryDelayFactor,
  functions: functionCaller,
}
export type Needs = AreaGiven<typeof needs>
