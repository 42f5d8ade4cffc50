/** A platform whose subscriptions may lead to this machine. */

import type { TestContext } from "node:test"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"
import { type Receiver, startReceiver } from "../../../testing/receiver.ts"

export interface EventWorld {
  readonly platform: TestPlatform
  readonly key: Svc
  readonly topicId: string
  readonly receiver: Receiver
}

export const LOCAL = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }

export const clientOf = (platform: TestPlatform, tenant: string): Promise<Svc> =>
  platform.client(tenant, "events:manage", "events:publish", "events:read")

export const eventWorld = async (t: TestContext, options: PlatformOptions = {}): Promise<EventWorld> => {
  const receiver = await startReceiver(t)
  const started = await platform(t, { ...options, env: { ...LOCAL, ...options.env } })
  const key = await clientOf(started, "acme")
  const { id: topicId } = await key.events.createTopic({ name: "orders" })
  return { platform: started, key, topicId, receiver }
}

type Subscribe = Parameters<Svc["events"]["createSubscription"]>[0]

export const subscribe = (
  { key, topicId, receiver }: EventWorld,
  { config, ...more }: Partial<Subscribe> = {},
) =>
  key.events.createSubscription({
    topic_id: topicId,
    sub_type: "webhook",
    config: { url: receiver.url, ...config },
    ...more,
  })

export type DeliveryRecord = Awaited<ReturnType<Svc["events"]["deliveries"]>>["data"][number]

const STEP_MS_MAX = 120_000

/** Looks until it is so, turning the clock on between two looks, by more each time. */
export const advanceUntil = async <Found>(
  { platform: { clock } }: Pick<EventWorld, "platform">,
  look: () => Promise<Found | undefined | false>,
) => {
  let stepMs = 250
  return eventually("it comes to be", async () => {
    const found = await look()
    if (found) return found
    await clock.advance(stepMs)
    stepMs = Math.min(stepMs * 1.2, STEP_MS_MAX)
    return undefined
  })
}

/** The newest delivery of a subscription, once it has that status. */
export const deliveryWhen = (
  world: EventWorld,
  sub_id: string,
  status: DeliveryRecord["status"],
): Promise<DeliveryRecord> =>
  advanceUntil(world, async () => {
    const { data } = await world.key.events.deliveries({ sub_id, limit: 1 })
    return data[0]?.status === status && data[0]
  })
