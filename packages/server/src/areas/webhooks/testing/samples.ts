/** Valid inputs of the operations of webhooks, for the tests that hold for every operation. */
import { organizationId, type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"

/** Its endpoint does not answer. */
const newWebhook = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  const url = "https://nowhere.invalid/"
  const { id } = await world.key.webhooks.register({ tenant_id, url, event_types: ["billing.*"] })
  return { tenant_id, id }
}

/** For all that neither change nor remove it. */
const sharedWebhook = shared(newWebhook)

const newWebhookDelivery = async (world: SampleWorld) => {
  const webhook = await sharedWebhook(world)
  const { delivery } = await world.key.webhooks.test(webhook)
  return { ...webhook, delivery_id: delivery.id }
}

export const samples = {
  "webhooks.register": async world => ({
    tenant_id: await organizationId(world),
    url: "https://example.com/hooks",
    event_types: ["database.*"],
  }),
  "webhooks.get": sharedWebhook,
  "webhooks.update": async world => ({
    ...(await newWebhook(world)),
    url: "https://example.com/others",
    event_types: ["*"],
  }),
  "webhooks.unregister": newWebhook,
  "webhooks.rotateSecret": newWebhook,
  "webhooks.test": sharedWebhook,
  "webhooks.deliveries": sharedWebhook,
  "webhooks.retryDelivery": newWebhookDelivery,
  "webhooks.replay": sharedWebhook,
} satisfies Readonly<Record<string, Sample>>
