import { box, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, jobs, outbound } from "../../kernel/tokens.ts"
import { git } from "../../ports/git/port.ts"
import { pushBuilder } from "./offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  jobs,
  git,
  box,
  outbound,
  platformEvents,
  pushes: pushBuilder,
  baseUrl,
}
export type Needs = AreaGiven<typeof needs>
