import { tenantKeys } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  tenantKeys,
}
export type Needs = AreaGiven<typeof needs>
