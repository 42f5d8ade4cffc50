import type { AreaGiven } from "../../kernel/area.ts"
import { clock, database, jobs, outbound } from "../../kernel/tokens.ts"
import { search } from "../../ports/search/port.ts"
import { tableReader } from "../databases/offers.ts"
import { objectReader } from "../storage/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  jobs,
  search,
  outbound,
  tables: tableReader,
  objects: objectReader,
}
export type Needs = AreaGiven<typeof needs>
