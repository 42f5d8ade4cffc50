/** Valid inputs of the operations of events, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const newTopic = async ({ key }: SampleWorld) => ({
  topic_id: (await key.events.createTopic({ name: uniqueName() })).id,
})

/** Its endpoint does not answer. */
const newSubscription = async (world: SampleWorld) => {
  const { topic_id } = await newTopic(world)
  const config = { url: "https://nowhere.invalid/" }
  const { id } = await world.key.events.createSubscription({ topic_id, sub_type: "webhook", config })
  return { sub_id: id }
}

const newDelivery = async (world: SampleWorld) => {
  const { sub_id } = await newSubscription(world)
  const { delivery } = await world.key.events.testSubscription({ sub_id })
  return { sub_id, delivery_id: delivery.id }
}

export const samples = {
  "events.createTopic": async () => ({ name: uniqueName() }),
  "events.getTopic": newTopic,
  "events.deleteTopic": newTopic,
  "events.publish": async world => ({ ...(await newTopic(world)), event_type: "order.paid", data: {} }),
  "events.tail": newTopic,
  "events.createSubscription": async world => ({
    ...(await newTopic(world)),
    sub_type: "webhook",
    config: { url: "https://example.com/hooks" },
  }),
  "events.listSubscriptions": newTopic,
  "events.getSubscription": newSubscription,
  "events.updateSubscription": async world => ({
    ...(await newSubscription(world)),
    config: { url: "https://example.com/others" },
  }),
  "events.deleteSubscription": newSubscription,
  "events.testSubscription": newSubscription,
  "events.rotateSecret": newSubscription,
  "events.replay": newSubscription,
  "events.deliveries": newSubscription,
  "events.retryDelivery": newDelivery,
} satisfies Readonly<Record<string, Sample>>
