import { createEventStreams } from "../../core/event-streams.ts"
import type { Tx } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { DisabledReason, EndpointOf } from "../../services/deliveries/deliveries.ts"
import { createEndpoints } from "./endpoints.ts"
import { createEventCounts } from "./event-counts.ts"
import { eventHandlers } from "./handlers.ts"
import { keepEvents } from "./keeping.ts"
import type { Needs } from "./needs.ts"
import { createPublisher, SUBSCRIPTION_KIND } from "./publisher.ts"
import { type PublishedTopic, readPublishedTopic } from "./publishing-store.ts"
import { createScheduledEvents } from "./scheduled-events.ts"
import { subscriptionStore } from "./store.ts"
import { createTails, TAIL_BOUNDS } from "./tail.ts"
import { TOPIC_TOPIC } from "./topic-handlers.ts"

const CACHED_TOPICS_MAX = 10_000

export const start = (services: Needs) => {
  const { database, changes, clock, jobs, deliveries, box, outbound, functions } = services
  const { meters, log, scheduleTargets, keys, stopping, atRest } = services
  const { db } = database
  const opened = new AsyncDisposableStack()
  const endpoints = createEndpoints({ db, changes, box, functions, now: clock.now })
  const topics = createPushedCache<PublishedTopic | undefined>({
    changes,
    topics: { [TOPIC_TOPIC]: "one" },
    read: id => readPublishedTopic(db, id),
    idOf: topic => topic?.id,
    entriesMax: CACHED_TOPICS_MAX,
  })

  deliveries.define({
    name: SUBSCRIPTION_KIND,
    resolve: endpoints.resolve,
    async disable(tx: Tx, { tenantId, endpointId }: EndpointOf, reason: DisabledReason) {
      const now = new Date(clock.now())
      const topicId = await subscriptionStore(tx).disable(tenantId, endpointId, reason, now)
      await endpoints.invalidate(tx, endpointId)
      if (topicId !== undefined) await changes.invalidate(tx, TOPIC_TOPIC, topicId)
    },
  })
  keepEvents(jobs, database, clock)

  const counts = opened.use(createEventCounts(db, clock, log))
  const streams = opened.use(createEventStreams({ db, clock, keys, stopping }, TAIL_BOUNDS))
  const publisher = createPublisher(database, deliveries, counts)
  scheduleTargets.provide("topic", createScheduledEvents({ topics, publisher, meters, now: clock.now }))

  return {
    operations: eventHandlers({
      ...{ deliveries, changes, jobs, endpoints, functions, outbound, topics },
      ...{ publisher, counts, tails: createTails(db, atRest, streams) },
    }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
