import { createEndpoints } from "./endpoints.ts"
import { webhookHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { createListener, webhookKind } from "./telling.ts"

export const start = ({ database, changes, clock, box, outbound, platformEvents, deliveries }: Needs) => {
  const { db } = database
  const { now } = clock
  const endpoints = createEndpoints({ db, changes, box, now })
  deliveries.define(webhookKind({ endpoints, platformEvents, now }))
  platformEvents.listen(createListener({ endpoints, deliveries }))
  return {
    operations: webhookHandlers({ endpoints, deliveries, urlProblem: outbound.urlProblem }),
  }
}
