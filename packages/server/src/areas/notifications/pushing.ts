import type { NotificationPriority } from "@svc/contract"
import { sql } from "kysely"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Job, Outcome, QueueDefinition } from "../../kernel/jobs/jobs.ts"
import type { PushOutcome, PushPort, PushTarget } from "../../ports/push/port.ts"
import { settleDelivery, shortReason } from "./delivery-store.ts"
import { type DeviceTarget, targetContext } from "./device-handlers.ts"
import type { Credentials, ProviderSettings } from "./providers.ts"
import { type DeliveryJob, PUSH_QUEUE } from "./sending.ts"

/** How long a push service keeps a message without a `ttl_seconds`: the four weeks that all of them take. */
const TTL_SECONDS_MAX = 28 * 86_400
/** Devices that are off take no harm from a late message, so it is tried for a day. */
const RETRIES_MS = [5_000, 60_000, 10 * 60_000, 3_600_000, 6 * 3_600_000, 17 * 3_600_000]
/** A push service that asks for more is asked again then. */
const AFTER_MS_MAX = 24 * 3_600_000
const AFTER_MS_DEFAULT = 30_000

export interface PushingNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly box: SecretBox
  readonly push: PushPort
  readonly providers: ProviderSettings
}

type PendingPush = NonNullable<Awaited<ReturnType<ReturnType<typeof pushStore>["find"]>>>

const pushStore = (db: Db) => ({
  /** A delivery that still waits, with its message and device. */
  find: ({ organizationId, deliveryId }: DeliveryJob) =>
    db
      .selectFrom("notifications.deliveries as delivery")
      .innerJoin("notifications.messages as message", "message.id", "delivery.notification_id")
      .leftJoin("notifications.devices as device", join =>
        join
          .onRef("device.organization_id", "=", "delivery.organization_id")
          .onRef("device.user_id", "=", "delivery.user_id")
          .onRef("device.id", "=", "delivery.device_id"),
      )
      .where("delivery.organization_id", "=", organizationId)
      .where("delivery.id", "=", deliveryId)
      .where("delivery.status", "=", "queued")
      .selectAll("message")
      .select([
        ...([
          "device.id as device_id",
          "device.provider",
          "device.environment",
          "device.token_hash",
        ] as const),
        ...(["device.target", "device.invalidated_at"] as const),
      ])
      .executeTakeFirst(),

  touch: async (organizationId: string, deviceId: string, at: Date) => {
    await db
      .updateTable("notifications.devices")
      .set({ last_success_at: at })
      .where("organization_id", "=", organizationId)
      .where("id", "=", deviceId)
      .execute()
  },

  /** Unless it was registered anew since. */
  invalidate: async (organizationId: string, deviceId: string, target: string, reason: string, at: Date) => {
    await db
      .updateTable("notifications.devices")
      .set({ invalidated_at: at, invalid_reason: shortReason(reason) })
      .where("organization_id", "=", organizationId)
      .where("id", "=", deviceId)
      .where("target", "=", sql<string>`${target}`)
      .execute()
  },
})

const targetOf = (
  { provider, environment }: PendingPush,
  target: DeviceTarget,
  { webpush, fcm, apns }: Credentials,
): PushTarget | undefined => {
  if ("endpoint" in target) return { provider: "webpush", subscription: target, credentials: webpush }
  if (provider === "fcm") return fcm ? { provider, token: target.token, credentials: fcm } : undefined
  const stage = environment === "sandbox" ? "sandbox" : "production"
  return apns ? { provider: "apns", token: target.token, environment: stage, credentials: apns } : undefined
}

const contentOf = (found: PendingPush, nowMs: number) => ({
  content: {
    ...{ id: found.id, title: found.title, body: found.body, type: found.type, category: found.category },
    ...{ actionUrl: found.action_url, data: found.data as Record<string, unknown> },
  },
  delivery: {
    ttlSeconds: Math.min(
      TTL_SECONDS_MAX,
      Math.ceil(((found.expires_at?.getTime() ?? Number.POSITIVE_INFINITY) - nowMs) / 1_000),
    ),
    priority: found.priority as NotificationPriority,
    collapseKey: found.collapse_key,
  },
})

/** Takes messages to devices. A message may reach a device twice when a process dies in between, under the same id. */
export const pushQueue = ({
  db,
  clock,
  box,
  push,
  providers,
}: PushingNeeds): QueueDefinition<DeliveryJob> => {
  const store = pushStore(db)

  const settle = (
    job: DeliveryJob,
    status: string,
    reason: string | null,
    providerStatus: number | null = null,
  ) => settleDelivery(db, job, { status, reason, provider_status: providerStatus, at: new Date(clock.now()) })

  const send = async (
    found: PendingPush,
    payload: DeliveryJob,
    signal: AbortSignal,
  ): Promise<PushOutcome> => {
    const { provider, target, token_hash } = found
    const opened = await box.open(
      payload.organizationId,
      targetContext(provider ?? "", token_hash ?? Buffer.alloc(0)),
      target ?? "",
    )
    const credentials = await providers.credentials(db, payload.organizationId)
    const to = targetOf(found, JSON.parse(opened) as DeviceTarget, credentials)
    if (!to) return { kind: "failed", status: null, reason: `no credentials for ${provider} are set` }
    return push.send({ ...to, ...contentOf(found, clock.now()) }, signal)
  }

  const conclude = async (
    { payload, isLastAttempt }: Job<DeliveryJob>,
    found: PendingPush,
    outcome: PushOutcome,
  ): Promise<Outcome | undefined> => {
    const { organizationId } = payload
    const now = new Date(clock.now())
    if (outcome.kind === "sent") {
      await settle(payload, "sent", null, outcome.status)
      await store.touch(organizationId, found.device_id ?? "", now)
      return undefined
    }
    if (outcome.kind === "later" && !isLastAttempt) {
      const afterMs = Math.min(outcome.afterMs ?? AFTER_MS_DEFAULT, AFTER_MS_MAX)
      const at = new Date(now.getTime() + afterMs)
      if (outcome.afterMs !== undefined) return { kind: "retry", at, reason: outcome.reason }
      throw new Error(outcome.reason)
    }
    if (outcome.kind === "gone")
      await store.invalidate(organizationId, found.device_id ?? "", found.target ?? "", outcome.reason, now)
    await settle(payload, "failed", outcome.reason, outcome.status)
    return undefined
  }

  return {
    name: PUSH_QUEUE,
    concurrency: 16,
    perTargetConcurrency: 1,
    // A push that its process left behind should not come much later than the others.
    leaseSeconds: 10,
    retries: RETRIES_MS,
    timeoutMs: 40_000,
    async run(job, { signal }) {
      const { payload } = job
      const found = await store.find(payload)
      if (!found) return undefined
      if (found.device_id === null || found.invalidated_at !== null) {
        await settle(payload, "failed", "the device is no longer registered")
        return undefined
      }
      if (found.expires_at && found.expires_at.getTime() <= clock.now()) {
        await settle(payload, "expired", null)
        return undefined
      }
      return conclude(job, found, await send(found, payload, signal))
    },
    async onDead({ payload }, error) {
      await settle(payload, "failed", error)
    },
  }
}
