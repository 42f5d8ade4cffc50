import { type areas, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { rangeOf } from "../../services/deliveries/payload.ts"
import { toDelivery } from "./payloads.ts"
import { SUBSCRIPTION_KIND } from "./publisher.ts"
import {
  endpointOf,
  requireSubscription,
  requireSubscriptionForUpdate,
  type SubscriptionHandlerNeeds,
  targetOf,
} from "./subscription-handlers.ts"
import { requireTopic } from "./topic-handlers.ts"

type Specs = typeof areas.events.specs

/** What is switched off is sent nothing, so there is nothing to send again. */
const checkActive = ({ status }: { readonly status: string }): void => {
  if (status !== "active") throw fault("invalid_state_transition", { state: status })
}

/** What was sent to a subscription, and sending it again. */
export const deliveryHandlers = ({ deliveries, endpoints }: SubscriptionHandlerNeeds) => ({
  testSubscription: async ({ sub_id }: Input<Specs["testSubscription"]>, call: Call) => {
    const row = await requireSubscription(call, sub_id)
    const topic = await requireTopic(call, row.topic_id)
    call.describe({ targets: [targetOf(row)] })
    const delivery = await deliveries.deliverOnce(
      {
        ...{ id: `evt_${newId()}`, kind: SUBSCRIPTION_KIND, tenantId: row.organization_id },
        // No event of the topic: it is in no replay and in no tail.
        ...{ projectId: row.project_id, streamId: row.id, type: "subscription.test", source: "svc" },
        ...{ topic: topic.name, at: call.now, endpointId: row.id },
        data: JSON.stringify({ subscription_id: row.id, message: "A test of this subscription." }),
      },
      await endpoints.endpointOf(call.db, row),
    )
    const shown = toDelivery(delivery)
    return {
      success: shown.status === "delivered",
      ...{ status_code: shown.status_code, response_time_ms: shown.response_time_ms },
      ...{ error: shown.attempts.at(-1)?.error ?? null, delivery: shown },
    }
  },

  async deliveries({ sub_id, ...input }: Input<Specs["deliveries"]>, call: Call) {
    const row = await requireSubscription(call, sub_id)
    const filter = { status: input.status, eventType: input.event_type, ...rangeOf(input), ...pageOf(input) }
    const { rows, total } = await deliveries.list(call.db, endpointOf(row), filter)
    return page({ rows: rows.map(toDelivery), total }, input)
  },

  async retryDelivery({ sub_id, delivery_id }: Input<Specs["retryDelivery"]>, call: Call) {
    const row = await requireSubscriptionForUpdate(call, sub_id)
    checkActive(row)
    const delivery = await requireRow(
      deliveries.retry(call.db, endpointOf(row), delivery_id),
      "delivery_not_found",
      { id: delivery_id },
    )
    call.describe({ targets: [targetOf(row)], metadata: { delivery_id } })
    return toDelivery(delivery)
  },

  async replay({ sub_id, status, ...range }: Input<Specs["replay"]>, call: Call) {
    const row = await requireSubscriptionForUpdate(call, sub_id)
    checkActive(row)
    const replayed = await deliveries.replay(call.db, endpointOf(row), { status, ...rangeOf(range) })
    call.describe({ targets: [targetOf(row)], metadata: { replayed } })
    return { replayed }
  },
})
