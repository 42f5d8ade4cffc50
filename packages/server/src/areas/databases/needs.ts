import { box, deriveSecret, meters, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { changes, clock, database, installation, log, metrics } from "../../kernel/tokens.ts"
import { engine } from "../../ports/engine/port.ts"
import { postgresClients } from "../sql/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  engine,
  box,
  meters,
  metrics,
  platformEvents,
  installation,
  deriveSecret,
  postgresClients,
}
export type Needs = AreaGiven<typeof needs, typeof settings, "postgres">
