import { box, deriveSecret } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import {
  baseUrl,
  changes,
  clock,
  database,
  installation,
  jobs,
  log,
  outbound,
  ownServer,
  relay,
} from "../../kernel/tokens.ts"
import { dns } from "../../ports/dns/port.ts"
import {
  bucketTarget,
  deploymentTarget,
  functionTarget,
  loadBalancerTarget,
  runServiceTarget,
} from "./offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  database,
  changes,
  clock,
  log,
  jobs,
  dns,
  baseUrl,
  ownServer,
  relay,
  outbound,
  installation,
  box,
  deriveSecret,
  run_service: runServiceTarget,
  deployment: deploymentTarget,
  function: functionTarget,
  load_balancer: loadBalancerTarget,
  bucket: bucketTarget,
}
export type Needs = AreaGiven<typeof needs, typeof settings, "tls">
