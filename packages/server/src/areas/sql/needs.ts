import { scheduleTargets } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, log } from "../../kernel/tokens.ts"
import { engine } from "../../ports/engine/port.ts"
import { branchServers, databaseAccess } from "../databases/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  engine,
  scheduleTargets,
  databaseAccess,
  branchServers,
}
export type Needs = AreaGiven<typeof needs>
