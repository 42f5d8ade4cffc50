import { areas } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { deliveryHandlers } from "./delivery-handlers.ts"
import { type PublishNeeds, publishHandler } from "./publish-handler.ts"
import { type SubscriptionHandlerNeeds, subscriptionHandlers } from "./subscription-handlers.ts"
import type { Tails } from "./tail.ts"
import { requireTopic, type TopicHandlerNeeds, topicHandlers } from "./topic-handlers.ts"

type EventHandlerNeeds = TopicHandlerNeeds &
  SubscriptionHandlerNeeds &
  PublishNeeds & { readonly tails: Tails }

export const eventHandlers = implement(areas.events, (needs: EventHandlerNeeds) => ({
  ...topicHandlers(needs),
  ...subscriptionHandlers(needs),
  ...deliveryHandlers(needs),
  publish: publishHandler(needs),

  async tail({ topic_id, event_type }, call) {
    const { organization_id } = await requireTopic(call, topic_id)
    const patterns = event_type === undefined ? [] : [event_type]
    return needs.tails.open({ tenantId: organization_id, topicId: topic_id, patterns }, call)
  },
}))
