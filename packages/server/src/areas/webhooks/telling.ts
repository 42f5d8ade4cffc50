import type {
  PlatformEvent,
  PlatformEventListener,
  PlatformEvents,
} from "../../core/platform-events/platform-events.ts"
import type { Tx } from "../../kernel/db/database.ts"
import type {
  Deliveries,
  DeliveryKind,
  EndpointOf,
  NewMessage,
} from "../../services/deliveries/deliveries.ts"
import type { Endpoints, Listening } from "./endpoints.ts"
import { choosesType, hearsProject } from "./rules.ts"
import { type WebhookRow, webhookStore } from "./store.ts"

const WEBHOOK_KIND = "webhook"
/** With the engine's schedule, three days. */
const RETRIES_MAX = 9

export const messageOf = (event: PlatformEvent): Omit<NewMessage, "recipients"> => ({
  ...{ id: event.id, kind: WEBHOOK_KIND, tenantId: event.organizationId, projectId: event.projectId },
  ...{
    streamId: event.organizationId,
    type: event.type,
    source: "platform",
    topic: null,
    at: event.occurredAt,
  },
  data: JSON.stringify(event.data),
})

/** A webhook is not told of itself: that it fails would fail too. */
const chooses = (webhook: Listening, { type, projectId, data }: PlatformEvent): boolean =>
  choosesType(webhook.event_types, type) &&
  hearsProject(webhook.project_id, projectId) &&
  data.webhook_id !== webhook.id

/** Makes deliveries of what happens. */
export const createListener = (needs: {
  readonly endpoints: Endpoints
  readonly deliveries: Deliveries
}): PlatformEventListener => {
  const { endpoints, deliveries } = needs
  return {
    wants: (organizationId, type) =>
      endpoints.listening(organizationId)?.some(({ event_types }) => choosesType(event_types, type)),

    async receive(db, events) {
      const messages: NewMessage[] = []
      const known = new Map<string, readonly Listening[]>()
      for (const event of events) {
        const { organizationId } = event
        const listening =
          known.get(organizationId) ??
          endpoints.listening(organizationId) ??
          (await webhookStore(db).listeners(organizationId))
        known.set(organizationId, listening)
        const recipients = listening
          .filter(webhook => chooses(webhook, event))
          .map(({ id }) => ({ endpointId: id, maxRetries: RETRIES_MAX }))
        if (recipients.length > 0) messages.push({ ...messageOf(event), recipients })
      }
      if (messages.length > 0) await deliveries.enqueue(db, messages)
    },
  }
}

/** What the delivery engine needs to know of webhooks, and what it tells of them. */
export const webhookKind = (needs: {
  readonly endpoints: Endpoints
  readonly platformEvents: PlatformEvents
  readonly now: () => number
}): DeliveryKind => {
  const { endpoints, platformEvents, now } = needs

  const find = (tx: Tx, { tenantId, endpointId }: EndpointOf): Promise<WebhookRow | undefined> =>
    webhookStore(tx).find({ organizationId: tenantId, projectId: null }, endpointId)

  const about = ({ organization_id, project_id }: WebhookRow) => ({
    organizationId: organization_id,
    projectId: project_id,
  })

  return {
    name: WEBHOOK_KIND,
    resolve: endpoints.resolve,

    async disable(tx, endpoint, reason) {
      const webhook = await find(tx, endpoint)
      if (!webhook?.active) return
      const at = new Date(now())
      await webhookStore(tx).update(webhook.organization_id, webhook.id, {
        ...{ active: false, disabled_at: at, disabled_reason: reason, updated_at: at },
      })
      await endpoints.invalidate(tx, webhook.id)
      const data = { webhook_id: webhook.id, url: webhook.url, reason }
      await platformEvents.emit(tx, { ...about(webhook), type: "webhook.disabled", data })
    },

    async failing(tx, endpoint, delivery) {
      const webhook = await find(tx, endpoint)
      if (!webhook) return
      const data = {
        ...{ webhook_id: webhook.id, url: webhook.url },
        ...{ delivery_id: delivery.id, event_type: delivery.eventType },
      }
      await platformEvents.emit(tx, { ...about(webhook), type: "webhook.failing", data })
    },

    async recovered(tx, endpoint) {
      const webhook = await find(tx, endpoint)
      if (!webhook) return
      const data = { webhook_id: webhook.id, url: webhook.url }
      await platformEvents.emit(tx, { ...about(webhook), type: "webhook.recovered", data })
    },
  }
}
