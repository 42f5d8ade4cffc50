import { vectorHandlers } from "./handlers.ts"
import { createKeeper } from "./keeper.ts"
import type { Needs } from "./needs.ts"
import { createVectorQuota } from "./quota.ts"
import { scheduleSweeps } from "./sweeper.ts"

export const start = ({ database, vectors: index, clock, log, jobs }: Needs) => {
  const keeper = createKeeper({ index, database, log })
  scheduleSweeps({ database, index, clock, jobs })
  return {
    operations: vectorHandlers({ database, index, keeper, quota: createVectorQuota(database.db, clock) }),
  }
}
