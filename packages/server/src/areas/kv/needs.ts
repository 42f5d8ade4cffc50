import { atRest } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { clock, log } from "../../kernel/tokens.ts"
import { kv } from "../../ports/kv/port.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  kv,
  atRest,
  clock,
  log,
}
export type Needs = AreaGiven<typeof needs>
