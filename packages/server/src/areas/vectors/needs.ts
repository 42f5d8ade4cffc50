import type { AreaGiven } from "../../kernel/area.ts"
import { clock, database, jobs, log } from "../../kernel/tokens.ts"
import { vectors } from "../../ports/vectors/port.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  vectors,
  clock,
  log,
  jobs,
}
export type Needs = AreaGiven<typeof needs>
