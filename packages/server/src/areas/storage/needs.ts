import { accessKeys, blobKeepers, box, keys, meters, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, changes, clock, database, jobs, log, metrics } from "../../kernel/tokens.ts"
import { blob } from "../../ports/blob/port.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  blob,
  blobKeepers,
  clock,
  jobs,
  log,
  changes,
  box,
  keys,
  meters,
  metrics,
  baseUrl,
  accessKeys,
  platformEvents,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
