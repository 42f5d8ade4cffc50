import type { AreaGiven } from "../../kernel/area.ts"
import { engine } from "../../ports/engine/port.ts"
import { branchInsight, databaseAccess } from "../databases/offers.ts"
import { statements } from "../sql/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  engine,
  databaseAccess,
  branchInsight,
  statements,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
