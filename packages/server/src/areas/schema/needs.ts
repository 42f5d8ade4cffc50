import type { AreaGiven } from "../../kernel/area.ts"
import { clock } from "../../kernel/tokens.ts"
import { engine } from "../../ports/engine/port.ts"
import { databaseAccess } from "../databases/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  clock,
  engine,
  databaseAccess,
}
export type Needs = AreaGiven<typeof needs>
