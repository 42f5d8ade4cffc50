import { box, keys, meters, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import {
  baseUrl,
  changes,
  clock,
  database,
  jobs,
  log,
  metrics,
  relay,
  stopping,
} from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../../services/hosts/token.ts"
import { images } from "../../services/images/token.ts"
import { serving } from "../../services/serving/token.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  jobs,
  box,
  keys,
  meters,
  metrics,
  platformEvents,
  runtime,
  hosts,
  images,
  serving,
  relay,
  stopping,
  baseUrl,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
