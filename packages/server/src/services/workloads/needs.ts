import { box, keys, meters, platformEvents } from "../../core/tokens.ts"
import type { ServicesOf } from "../../kernel/token.ts"
import { changes, clock, database, log, stopping } from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../hosts/token.ts"
import { images } from "../images/token.ts"

export const needs = {
  database,
  changes,
  clock,
  log,
  box,
  keys,
  meters,
  platformEvents,
  runtime,
  hosts,
  images,
  stopping,
}
export type WorkloadNeeds = ServicesOf<typeof needs>
