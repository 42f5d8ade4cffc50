import { type areas, EVENT_RETENTION_DAYS_MAX, type Input, page, pageOf, TOPICS_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Deliveries } from "../../services/deliveries/deliveries.ts"
import type { Endpoints } from "./endpoints.ts"
import type { EventCounts } from "./event-counts.ts"
import { FORGET_QUEUE } from "./keeping.ts"
import { toTopic } from "./payloads.ts"
import { subscriptionStore, type TopicRow, topicStore } from "./store.ts"

type Specs = typeof areas.events.specs

/** The topic under which changes of topics and of their subscriptions are announced. */
export const TOPIC_TOPIC = "events.topic"

export const requireTopic = (call: Call, id: string): Promise<TopicRow> =>
  requireRow(topicStore(call.db).find(call.tenant, id), "topic_not_found", { id })

export interface TopicHandlerNeeds {
  readonly counts: EventCounts
  readonly deliveries: Deliveries
  readonly endpoints: Endpoints
  readonly changes: Changes
  readonly jobs: Jobs
}

export const topicHandlers = ({ deliveries, endpoints, changes, jobs, counts }: TopicHandlerNeeds) => ({
  async createTopic({ name, retention_days }: Input<Specs["createTopic"]>, call: Call) {
    const store = topicStore(call.db)
    if ((await store.count(call.tenant)) >= TOPICS_MAX) {
      throw fault("invalid_parameter", { reason: `there are ${TOPICS_MAX} topics already` })
    }
    const row = {
      ...{ id: newId(), organization_id: call.organization.id, project_id: call.project?.id ?? null },
      ...{ owner_id: call.owner, name, retention_days: retention_days ?? EVENT_RETENTION_DAYS_MAX },
      ...{ created_at: call.now, updated_at: call.now },
    }
    try {
      await store.insert(row)
    } catch (error) {
      if (isUniqueViolation(error, "topics_name")) throw fault("name_taken", { resource: "topic", name })
      throw error
    }
    call.describe({ targets: [{ type: "topic", id: row.id, name }] })
    return toTopic({ ...row, subscription_count: 0, event_count: 0 }, 0)
  },

  async listTopics(input: Input<Specs["listTopics"]>, call: Call) {
    const { rows, total } = await topicStore(call.db).list(call.tenant, pageOf(input))
    return page({ rows: rows.map(row => toTopic(row, counts.unwritten(row.id))), total }, input)
  },

  async getTopic({ topic_id }: Input<Specs["getTopic"]>, call: Call) {
    return toTopic(await requireTopic(call, topic_id), counts.unwritten(topic_id))
  },

  async deleteTopic({ topic_id }: Input<Specs["deleteTopic"]>, call: Call) {
    const owner = call.tenant
    if (!(await topicStore(call.db).lock(owner, topic_id))) throw fault("topic_not_found", { id: topic_id })
    const topic = await requireTopic(call, topic_id)
    const subscriptions = await subscriptionStore(call.db).list(owner, topic_id, { limit: 1_000, offset: 0 })
    for (const { id } of subscriptions.rows) {
      await deliveries.cancel(call.db, { tenantId: owner.organizationId, endpointId: id })
      await endpoints.invalidate(call.db, id)
    }
    await topicStore(call.db).delete(owner, topic_id)
    await changes.invalidate(call.db, TOPIC_TOPIC, topic_id)
    const payload = { topicId: topic_id }
    await jobs.enqueue(call.db, { queue: FORGET_QUEUE, tenantId: owner.organizationId, payload })
    call.describe({ targets: [{ type: "topic", id: topic_id, name: topic.name }] })
  },
})
