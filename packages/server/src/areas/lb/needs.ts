import type { AreaGiven } from "../../kernel/area.ts"
import {
  baseUrl,
  changes,
  clock,
  database,
  installation,
  log,
  metrics,
  outbound,
  sockets,
  stopping,
} from "../../kernel/tokens.ts"
import { requestInspector } from "../../services/proxy/inspector.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  baseUrl,
  installation,
  metrics,
  outbound,
  sockets,
  stopping,
  inspector: requestInspector,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
