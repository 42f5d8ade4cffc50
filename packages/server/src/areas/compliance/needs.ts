import { atRest, audit, personalData, tenantKeys } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, installation, jobs } from "../../kernel/tokens.ts"
import { blob } from "../../ports/blob/port.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  installation,
  baseUrl,
  jobs,
  blob,
  audit,
  atRest,
  tenantKeys,
  personalData,
}
export type Needs = AreaGiven<typeof needs>
