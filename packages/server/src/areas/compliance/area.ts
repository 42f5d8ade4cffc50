import { createChains } from "./chains.ts"
import { createChecks } from "./checks/checks.ts"
import { createFulfilment } from "./fulfilment.ts"
import { complianceHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = (needs: Needs) => {
  const { database, clock, audit, jobs, blob, baseUrl } = needs
  const chains = createChains(database.db, clock)
  const checks = createChecks({ ...needs, chains })
  const fulfilment = createFulfilment(needs)
  jobs.define(fulfilment.queue)
  jobs.schedule(fulfilment.expiry)
  return {
    operations: complianceHandlers({ database, audit, chains, checks, jobs, blob, baseUrl, fulfilment }),
  }
}
