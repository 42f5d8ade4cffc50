/** Switches own-domain delivery off for whom too many recipients do not exist or do not want the mail. */
import type { Clock } from "../../../kernel/clock.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"
import type { Logger } from "../../../kernel/log.ts"
import { settingsStore } from "../settings/store.ts"
import { readReputation } from "./figures.ts"
import { warningsOf } from "./rates.ts"

/** What a sender did before is forgiven. */
const WINDOW_MS = 7 * 86_400_000
const QUEUE = "email.reputation"
/** Bounces come in crowds, which one look serves. */
const DELAY_MS = 1_000

/** The figures that count at a time: of a week, or since delivery was enabled. */
export const reputationOf = async (db: Db, organizationId: string, now: Date) => {
  const settings = await settingsStore(db).find(organizationId)
  const from = Math.max(now.getTime() - WINDOW_MS, settings?.enabled_at?.getTime() ?? 0)
  return { settings, reputation: await readReputation(db, organizationId, new Date(from)) }
}

export interface ReputationGuard {
  /** On the transaction of a bounce or complaint. */
  suspect(db: Db, organizationId: string, at: Date): Promise<void>
}

export const createReputationGuard = (needs: {
  readonly database: Database
  readonly jobs: Jobs
  readonly clock: Clock
  readonly log: Logger
}): ReputationGuard => {
  const { database, jobs, clock, log } = needs

  jobs.define<{ organizationId: string }>({
    name: QUEUE,
    concurrency: 2,
    async run({ payload: { organizationId } }) {
      const now = new Date(clock.now())
      const { settings, reputation } = await reputationOf(database.db, organizationId, now)
      if (!settings?.own_domain_delivery_enabled) return
      const worst = warningsOf(reputation).find(({ rate, pauses_at }) => rate >= pauses_at)
      if (!worst) return
      await settingsStore(database.db).pause(organizationId, worst.code, now)
      log.warn(
        { organization_id: organizationId, ...worst },
        "delivery from own domains was disabled: too many bounces or complaints",
      )
    },
  })

  return {
    suspect: (db, organizationId, at) =>
      jobs.enqueue(db, {
        queue: QUEUE,
        tenantId: organizationId,
        payload: { organizationId },
        runAt: new Date(at.getTime() + DELAY_MS),
        dedupeKey: organizationId,
      }),
  }
}
