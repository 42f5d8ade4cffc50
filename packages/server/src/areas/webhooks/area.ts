import { fileURLToPath } from "node:url"
import { defineArea } from "../../services.ts"
import { createEndpoints } from "./endpoints.ts"
import { webhookHandlers } from "./handlers.ts"
import { createListener, webhookKind } from "./telling.ts"

export const webhooksArea = defineArea({
  name: "webhooks",
  title: "Webhooks",
  needs: ["database", "changes", "clock", "box", "outbound", "platformEvents", "deliveries"],
  migrations: { schema: "webhooks", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  start({ database, changes, clock, box, outbound, platformEvents, deliveries }) {
    const { db } = database
    const { now } = clock
    const endpoints = createEndpoints({ db, changes, box, now })
    deliveries.define(webhookKind({ endpoints, platformEvents, changes, now }))
    platformEvents.listen(createListener({ endpoints, deliveries }))
    return {
      operations: webhookHandlers({ endpoints, deliveries, changes, urlProblem: outbound.urlProblem }),
      state: () => ({ status: "available" as const }),
    }
  },
})
