import { deriveSecret, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, clock, database, jobs, log, relay, stopping } from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../../services/hosts/token.ts"
import { images } from "../../services/images/token.ts"
import { workloads } from "../../services/workloads/token.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  clock,
  log,
  jobs,
  platformEvents,
  runtime,
  hosts,
  images,
  workloads,
  relay,
  stopping,
  baseUrl,
  deriveSecret,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
