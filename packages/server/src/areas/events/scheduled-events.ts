import type { CronTargetOf } from "@svc/contract"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { ScheduleOwner, ScheduleTarget } from "../../core/schedule-targets.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { dataOf, type PublishNeeds } from "./publish-handler.ts"

type Target = CronTargetOf<"topic">

/** Events that schedules publish. An execution publishes once, however many attempts it takes: its id is the event's. */
export const createScheduledEvents = (
  needs: PublishNeeds & { readonly meters: BackgroundMeters; readonly now: () => number },
): ScheduleTarget<"topic"> => {
  const find = async ({ organizationId, projectId }: ScheduleOwner, { topic_id }: Target) => {
    const topic = await needs.topics.find(topic_id)
    if (topic?.organizationId !== organizationId || topic.ownerId !== (projectId ?? organizationId)) {
      throw fault("topic_not_found", { id: topic_id })
    }
    return topic
  }

  const run: ScheduleTarget<"topic">["run"] = async ({ executionId, scheduledFor, ...owner }, target) => {
    const topic = await find(owner, target)
    const at = new Date(needs.now())
    const [published] = await needs.publisher.publish([
      {
        ...{ topic, eventId: `evt_${newId()}`, eventType: target.event_type, source: "svc.cron" },
        ...{ data: dataOf(target), occurredAt: scheduledFor, publishedAt: at },
        ...{ orderingKey: undefined, dedupeKey: `cron:${executionId}` },
      },
    ])
    const { organizationId, projectId } = owner
    needs.meters.count({ organizationId, projectId, metric: "events_published", quantity: 1, at })
    const answer = { event_id: published?.eventId, matched_subscriptions: published?.matched }
    return { status: "succeeded", responseBody: JSON.stringify(answer) }
  }

  return { scope: "events:publish", check: async (owner, target) => void (await find(owner, target)), run }
}
