import { box, deriveSecret, passwords } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, installation, jobs, outbound } from "../../kernel/tokens.ts"
import { projectMail } from "../email/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  jobs,
  box,
  deriveSecret,
  passwords,
  installation,
  outbound,
  projectMail,
}
export type Needs = AreaGiven<typeof needs>
