/** What the platform is made of: the core, the areas, and what they share. */
import { areas as contract } from "@svc/contract"
import * as areas from "./areas.ts"
import type { AreaModule } from "./kernel/area.ts"
import type { ServiceModule } from "./kernel/service.ts"
import * as shared from "./services.ts"

/** The areas that the core serves itself. */
export const coreAreas = [
  contract.identity,
  contract.account,
  contract.organizations,
  contract.projects,
  contract.keys,
  contract.approvals,
]

export const modules: readonly AreaModule[] = Object.values(areas)

export const services: readonly ServiceModule[] = Object.values(shared)
