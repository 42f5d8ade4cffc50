import { atRest, box, meters, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import {
  baseUrl,
  changes,
  clock,
  database,
  installation,
  jobs,
  log,
  metrics,
  retryDelayFactor,
} from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../../services/hosts/token.ts"
import { images } from "../../services/images/token.ts"
import { objectReader } from "../storage/offers.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  jobs,
  box,
  atRest,
  meters,
  metrics,
  baseUrl,
  platformEvents,
  objects: objectReader,
  runtime,
  hosts,
  images,
  retryDelayFactor,
  installation,
}
export type Needs = AreaGiven<typeof needs>
