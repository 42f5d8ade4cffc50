import { createChains } from "./chains.ts"
import { createChecks } from "./checks/checks.ts"
import { complianceHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = (needs: Needs) => {
  const { database, clock, audit } = needs
  const chains = createChains(database.db, clock)
  const checks = createChecks({ ...needs, chains })
  return { operations: complianceHandlers({ database, audit, chains, checks }) }
}
