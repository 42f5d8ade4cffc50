import type { Endpoint } from "./deliveries.ts"
import { signatureOf } from "./signature.ts"

/** A message as it is sent. */
export interface Message {
  /** A UUID; receivers get it with `evt_` before it. */
  readonly id: string
  readonly tenantId: string
  readonly projectId: string | null
  readonly type: string
  readonly source: string | null
  readonly topic: string | null
  readonly at: Date
  readonly data: string
}

const EVENT_PREFIX = "evt_"

export const eventIdOf = (messageId: string): string => EVENT_PREFIX + messageId
export const messageIdOf = (eventId: string): string =>
  eventId.startsWith(EVENT_PREFIX) ? eventId.slice(EVENT_PREFIX.length) : eventId

/** Fields, and `data` as the text that it is: what is sent are the same bytes at every attempt. */
const withData = (fields: Readonly<Record<string, unknown>>, data: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"data":${data}}`

/** `type` is Standard Webhooks' own name for it, `event_type` the name by which it was published. */
export const standardBody = ({ id, tenantId, type, source, topic, at, data }: Message): string =>
  withData(
    {
      id: eventIdOf(id),
      type,
      event_type: type,
      timestamp: at.toISOString(),
      source,
      ...(topic === null ? {} : { topic }),
      tenant_id: tenantId,
    },
    data,
  )

/** CloudEvents 1.0, structured mode. `source` is required there, and a URI reference. */
const cloudEventsBody = ({ id, type, source, topic, at, data }: Message): string =>
  withData(
    {
      specversion: "1.0",
      id: eventIdOf(id),
      source: source ?? (topic === null ? "/" : `/topics/${topic}`),
      type,
      time: at.toISOString(),
      datacontenttype: "application/json",
    },
    data,
  )

const CONTENT_TYPES = { standard: "application/json", cloudevents: "application/cloudevents+json" } as const

export interface Envelope {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Headers that an endpoint's own cannot replace. */
export const isReservedHeader = (name: string): boolean =>
  ["content-type", "user-agent"].includes(name.toLowerCase()) || /^(webhook|x-svc)-/i.test(name)

/** What one attempt sends. */
export const envelopeOf = (
  message: Message,
  { target, secrets, format = "standard" }: Endpoint,
  attempt: { readonly deliveryId: string; readonly number: number; readonly nowMs: number },
): Envelope => {
  const body = format === "standard" ? standardBody(message) : cloudEventsBody(message)
  const id = eventIdOf(message.id)
  const timestamp = Math.floor(attempt.nowMs / 1000)
  const own = "url" in target ? Object.entries(target.headers ?? {}) : []
  return {
    body,
    headers: {
      ...Object.fromEntries(own.filter(([name]) => !isReservedHeader(name))),
      "content-type": CONTENT_TYPES[format],
      "user-agent": "svc-webhooks/1",
      "webhook-id": id,
      "webhook-timestamp": `${timestamp}`,
      "webhook-signature": signatureOf(secrets, { id, timestamp, body }),
      "x-svc-attempt": `${attempt.number}`,
      "x-svc-delivery": attempt.deliveryId,
    },
  }
}
