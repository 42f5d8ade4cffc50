import { box, meters, platformEvents } from "../../core/tokens.ts"
import type { AreaGiven } from "../../kernel/area.ts"
import { baseUrl, changes, clock, database, installation, jobs, log, outbound } from "../../kernel/tokens.ts"
import { blob } from "../../ports/blob/port.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../../services/hosts/token.ts"
import { images } from "../../services/images/token.ts"
import { projectImages } from "../registry/offers.ts"
import type { settings } from "./settings.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {
  ...{ baseUrl, blob, box, changes, clock, database, hosts, images, installation, jobs, log, meters },
  ...{ outbound, platformEvents, runtime, registry: projectImages },
}
export type Needs = AreaGiven<typeof needs, typeof settings>
