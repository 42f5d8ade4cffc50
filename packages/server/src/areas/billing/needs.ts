import { deriveSecret, platformEvents, signedIn } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, changes, clock, database, inProcess, isOwnOrigin, jobs } from "../../kernel/tokens.ts"
import { ledger } from "../../services/ledger/token.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  baseUrl,
  changes,
  clock,
  database,
  deriveSecret,
  inProcess,
  isOwnOrigin,
  jobs,
  ledger,
  platformEvents,
  signedIn,
}
export type Needs = AreaGiven<typeof needs, typeof settings>
