import { atRest, audit, tenantKeys } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { clock, database, installation } from "../../kernel/tokens.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = { database, clock, installation, audit, atRest, tenantKeys }
export type Needs = AreaGiven<typeof needs>
