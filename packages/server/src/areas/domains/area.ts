import { createChecker } from "./checker.ts"
import { createDomainGate } from "./gate.ts"
import { domainsHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { cnameHostOf } from "./settings.ts"
import { routeStore } from "./store.ts"
import { createTable } from "./table.ts"

export const start = async (services: Needs) => {
  const { database, changes, baseUrl, settings, run_service, load_balancer, bucket } = services
  const cnameHost = cnameHostOf(settings, baseUrl)
  const base = new URL(baseUrl)
  const targets = { run_service, function: services.function, load_balancer, bucket }
  const table = createTable({ ...services, routes: routeStore(database.db) })
  await table.load()
  const checker = createChecker({ ...services, cnameHost })
  const ownNames = [base.hostname, ...(cnameHost === undefined ? [] : [cnameHost])]
  return {
    operations: domainsHandlers({ changes, checker, table, targets, cnameHost, ownNames }),
    gate: createDomainGate({
      ...{ ...services, table, targets },
      plainScheme: base.protocol === "https:" ? "https" : "http",
    }),
    async [Symbol.asyncDispose]() {
      table[Symbol.dispose]()
    },
  }
}
