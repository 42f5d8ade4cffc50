import type { Database } from "../../kernel/db/database.ts"
import type { ScheduleDefinition } from "../../kernel/jobs/jobs.ts"
import { emitKeyEvents, type KeyNews } from "./events.ts"
import { keyStore } from "./store.ts"

const DAY_MS = 86_400_000
/** How long before its end a key is told of, as the catalogue of events says. */
const NOTICE_MS = 7 * DAY_MS
/** Keys of one transaction. */
const BATCH_MAX = 500

/** Tells organizations, once, that a key of theirs is about to end. One that was rotated has a successor already. */
export const expiringKeys = (needs: {
  readonly database: Database
  readonly platformEvents: KeyNews["platformEvents"]
  readonly now: () => number
}): ScheduleDefinition => ({
  name: "keys.expiring",
  every: DAY_MS,
  async run(_tick, { signal }) {
    const { database, now } = needs
    for (let told = BATCH_MAX; told === BATCH_MAX && !signal.aborted; ) {
      told = await database.transaction(async tx => {
        const at = new Date(now())
        const until = new Date(now() + NOTICE_MS)
        const keys = await keyStore(tx).noteExpiring(at, until, BATCH_MAX)
        await emitKeyEvents(tx, needs, "key.expiring", keys)
        return keys.length
      })
    }
  },
})
