import { deriveSecret, platformEvents, signedIn } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import {
  baseUrl,
  changes,
  clock,
  database,
  inProcess,
  isOwnOrigin,
  jobs,
  outbound,
} from "../../kernel/tokens.ts"

export const needs = {
  baseUrl,
  changes,
  clock,
  database,
  deriveSecret,
  inProcess,
  isOwnOrigin,
  jobs,
  outbound,
  platformEvents,
  signedIn,
}
export type Needs = AreaGiven<typeof needs>
