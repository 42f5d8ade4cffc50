import { keys, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, fanout, installation, jobs, log, stopping } from "../../kernel/tokens.ts"
import { mails } from "../../ports/mail/port.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  fanout,
  clock,
  log,
  jobs,
  platformEvents,
  baseUrl,
  keys,
  stopping,
  mails,
  installation,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
