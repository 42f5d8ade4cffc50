import { box, keys, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, fanout, jobs, log, outbound, stopping } from "../../kernel/tokens.ts"
import { mails } from "../../ports/mail/port.ts"
import { push } from "../../ports/push/port.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  log,
  fanout,
  jobs,
  box,
  keys,
  outbound,
  push,
  platformEvents,
  baseUrl,
  stopping,
  mails,
}
export type Needs = AreaGiven<typeof needs>
