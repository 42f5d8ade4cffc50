import { type areas, EVENT_DATA_BYTES_MAX, type Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { PushedCache } from "../../kernel/pushed-cache.ts"
import { toPublished } from "./payloads.ts"
import type { Publication, Publisher } from "./publisher.ts"
import type { PublishedTopic } from "./publishing-store.ts"

type Body = Input<(typeof areas.events.specs)["publish"]>
type EventInput = NonNullable<Body["events"]>[number]

export interface PublishNeeds {
  readonly topics: PushedCache<PublishedTopic | undefined>
  readonly publisher: Publisher
}

export const dataOf = ({ data = {} }: Pick<EventInput, "data">): string => {
  const text = JSON.stringify(data)
  if (Buffer.byteLength(text) > EVENT_DATA_BYTES_MAX) {
    throw fault("event_too_large", { bytes: EVENT_DATA_BYTES_MAX })
  }
  return text
}

const toPublication = (topic: PublishedTopic, one: EventInput, call: Call): Publication => ({
  ...{ topic, eventId: `evt_${newId()}`, eventType: one.event_type, source: one.source ?? null },
  data: dataOf(one),
  occurredAt: one.occurred_at === undefined ? call.now : new Date(one.occurred_at),
  ...{ publishedAt: call.now, orderingKey: one.ordering_key, dedupeKey: one.id },
})

/** One event, or those of `events`; not both. */
const eventsOf = ({ topic_id: _, events, event_type, ...fields }: Body): readonly EventInput[] => {
  if (events === undefined) {
    if (event_type === undefined) throw fault("missing_parameter", { field: "event_type" })
    return [{ ...fields, event_type }]
  }
  if (event_type !== undefined || Object.keys(fields).length > 0) {
    throw fault("invalid_parameter", {
      reason: "with events, the fields of an event belong into each of them",
    })
  }
  return events
}

export const publishHandler =
  ({ topics, publisher }: PublishNeeds) =>
  async (input: Body, call: Call) => {
    const found = topics.find(input.topic_id)
    const topic = found instanceof Promise ? await found : found
    if (topic?.organizationId !== call.organization.id || topic.ownerId !== call.owner) {
      throw fault("topic_not_found", { id: input.topic_id })
    }
    const publications = eventsOf(input).map(one => toPublication(topic, one, call))
    const results = (await publisher.publish(publications)).map(result => toPublished(topic.id, result))
    // One is counted by the declaration.
    call.meter("events_published", results.length - 1)
    const [first] = results
    return input.events === undefined && first ? first : { events: results }
  }
