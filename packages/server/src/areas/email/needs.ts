import { atRest, box, meters, platformEvents, scheduleTargets } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, installation, jobs, log, outbound } from "../../kernel/tokens.ts"
import { dns } from "../../ports/dns/port.ts"
import { mails } from "../../ports/mail/port.ts"
import { mailReplies } from "../support/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  log,
  box,
  jobs,
  dns,
  baseUrl,
  outbound,
  platformEvents,
  mailReplies,
  mails,
  meters,
  scheduleTargets,
  atRest,
  installation,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
