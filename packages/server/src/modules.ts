/** What the platform is made of: the core, and the areas. */
import { areas as contract } from "@svc/contract"
import * as areas from "./areas.ts"
import type { Module } from "./services.ts"

/** The areas that the core serves itself. */
export const coreAreas = [
  contract.identity,
  contract.account,
  contract.organizations,
  contract.projects,
  contract.keys,
  contract.approvals,
]

export const modules: readonly Module[] = Object.values(areas)
