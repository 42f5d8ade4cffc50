/** What is kept of events, and for how long. */
import { EVENT_RETENTION_DAYS_MAX } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { expireMessages } from "../../services/deliveries/messages.ts"
import { pruneDedupeKeys, readForgetfulTopics } from "./publishing-store.ts"

export const FORGET_QUEUE = "events.forget"
const PRUNE_EVERY_MS = 60_000
const EXPIRE_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000

export const keepEvents = (jobs: Jobs, { db }: Database, clock: Clock): void => {
  /** In steps, so that no statement is long. */
  const expire = async (tenantId: string, topicId: string, before: Date, signal: AbortSignal) => {
    while ((await expireMessages(db, { tenantId, streamId: topicId }, before)) > 0) signal.throwIfAborted()
  }

  jobs.define<{ topicId: string }>({
    name: FORGET_QUEUE,
    run: async ({ tenantId, payload }, { signal }) =>
      expire(tenantId ?? "", payload.topicId, new Date(clock.now() + DAY_MS), signal),
  })
  jobs.schedule({
    name: "events.dedupes",
    every: PRUNE_EVERY_MS,
    run: () => pruneDedupeKeys(db, new Date(clock.now())),
  })
  jobs.schedule({
    name: "events.expire",
    every: EXPIRE_EVERY_MS,
    async run(_tick, { signal }) {
      for (const topic of await readForgetfulTopics(db, EVENT_RETENTION_DAYS_MAX)) {
        const before = new Date(clock.now() - topic.retention_days * DAY_MS)
        await expire(topic.organization_id, topic.id, before, signal)
      }
    },
  })
}
