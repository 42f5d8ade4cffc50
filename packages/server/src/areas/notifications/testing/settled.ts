import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import type { TestPlatform } from "../../../testing/platform.ts"

export const BOTH = ["notifications:read", "notifications:write"] as const

/** The delivery of a notification once it no longer waits. */
export const settled = (svc: Svc, id: string) =>
  eventually("the push is settled", async () => {
    const [first] = (await svc.notifications.get({ id })).deliveries
    return first && first.status !== "queued" && first
  })

/** Turns the clock until a push service was asked that often. */
export const untilAsked = (
  { clock }: TestPlatform,
  requests: readonly unknown[],
  count: number,
  stepMs: number,
) =>
  eventually("it is tried again", async () => {
    if (requests.length < count) await clock.advance(stepMs)
    return requests.length >= count
  })
