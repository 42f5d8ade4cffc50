import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"

/** What this process is making: volumes, and the databases and branches that they are for. */
export interface Creations extends AsyncDisposable {
  /** The same for all processes that had this data folder, of which there is one at a time. */
  readonly creatorId: string
  /** Columns of the row of a volume that is to be made. */
  lease(): { readonly creator_id: string; readonly lease_until: Date }
  /** Renews the leases of this process until disposed of. */
  renewing(): Disposable
}

const LEASE_MS = 60_000
const RENEW_EVERY_MS = 15_000

export const createCreations = (needs: {
  readonly creatorId: string
  readonly database: Pick<Database, "db">
  readonly clock: Clock
  readonly log: Logger
}): Creations => {
  const { creatorId, database, clock, log } = needs
  let underWay = 0

  const leaseUntil = () => new Date(clock.now() + LEASE_MS)

  const renew = async () => {
    if (underWay === 0) return
    await database.db
      .updateTable("databases.volumes")
      .set({ lease_until: leaseUntil() })
      .where("creator_id", "=", creatorId)
      .where("state", "=", "creating")
      .execute()
  }
  const timer = every(clock, RENEW_EVERY_MS, renew, {
    log,
    failure: "renewing leases of databases being created failed; will retry",
  })

  return {
    creatorId,
    lease: () => ({ creator_id: creatorId, lease_until: leaseUntil() }),
    renewing() {
      underWay += 1
      return {
        [Symbol.dispose]() {
          underWay -= 1
        },
      }
    },
    [Symbol.asyncDispose]: () => timer[Symbol.asyncDispose](),
  }
}
