import type { Db, Tx } from "../../kernel/db/database.ts"
import { openedToken } from "../../kernel/token.ts"

/**
 * Telling endpoints what happened: one engine for all that is sent to addresses of users. A message is delivered to
 * each of its endpoints at least once after the transaction that enqueued it has committed; the receiver knows it again
 * by its `webhook-id`. What fails is repeated by a schedule; when that is over the delivery is kept as `dead_lettered`,
 * to be looked at and sent again.
 *
 * The wire is Standard Webhooks 1.0.0. A dead endpoint never slows another: each has a queue of its own, and after five
 * failures in a row its queue only sends a probe now and then. One that fails for five days without a success is switched
 * off, and so is one that answers 410.
 *
 * An area defines its kind in `start`, and enqueues wherever it holds a transaction:
 *
 *     deliveries.define({ name: "webhook", resolve: ids => store.endpoints(ids), disable: … })
 *     await deliveries.enqueue(tx, [{ kind: "webhook", id: event.id, …, recipients: [{ endpointId, maxRetries: 9 }] }])
 */
export interface Deliveries {
  /** For areas, while they start. Nothing is sent before the platform has started everything. */
  define(kind: DeliveryKind): void
  /**
   * Writes messages and what is pending of them, in one statement. On a transaction they exist exactly if it commits, and
   * then are sent within milliseconds. A message without recipients is only kept. Takes no lock that others wait for.
   */
  enqueue(db: Db, messages: readonly NewMessage[]): Promise<void>
  /**
   * One signed attempt, now, with no retries and whatever the state of the endpoint, and no mark on its health: for
   * tests. It is listed like any other delivery, with the trigger `test`.
   */
  deliverOnce(message: TestMessage, endpoint: Endpoint): Promise<Delivery>
  /** An endpoint's deliveries, newest first. */
  list(db: Db, endpoint: EndpointOf, filter: DeliveryFilter): Promise<{ rows: Delivery[]; total: number }>
  /**
   * Sends one delivery again at once: a finished one gets one more attempt, one that waits has its next attempt now, and
   * one that is under way stays as it is. Undefined where the endpoint has no such delivery.
   */
  retry(db: Db, endpoint: EndpointOf, deliveryId: string): Promise<Delivery | undefined>
  /** Sends finished deliveries again, with all their retries; gives how many, 10,000 at most. */
  replay(db: Db, endpoint: EndpointOf, range: ReplayRange): Promise<number>
  /**
   * Nothing that waits is sent any more: it is `cancelled`. What is under way ends as it ends. For an endpoint that is
   * deleted or switched off; call it on the transaction that does so.
   */
  cancel(db: Db, endpoint: EndpointOf): Promise<void>
  /** How endpoints are doing; those that were never sent anything are not in it. */
  health(
    db: Db,
    tenantId: string,
    endpointIds: readonly string[],
  ): Promise<ReadonlyMap<string, EndpointHealth>>
  /** Forgets the failures of an endpoint that is switched on again or has another address; call it on that transaction. */
  forgive(db: Db, endpoint: EndpointOf): Promise<void>
}

/** Lists and changes name the tenant first: another tenant's endpoint has no deliveries. */
export interface EndpointOf {
  readonly tenantId: string
  readonly endpointId: string
}

export interface DeliveryKind {
  /** One lower-case word: `webhook`, `subscription`. */
  readonly name: string
  /**
   * Where deliveries go, by endpoint. Asked before every attempt, so answer from memory (a pushed cache). One that is
   * missing in the answer is gone: its deliveries are cancelled.
   */
  resolve(endpointIds: readonly string[]): Promise<ReadonlyMap<string, Endpoint>>
  /**
   * Switches an endpoint off, on the transaction that also dead-letters what waits for it. Tell its owner: a webhook
   * that is silently off is worse than one that fails.
   */
  disable(tx: Tx, endpoint: EndpointOf, reason: DisabledReason): Promise<void>
  /** One of its deliveries has failed for the fourth time; once until it recovers. */
  failing?(tx: Tx, endpoint: EndpointOf, delivery: Delivery): Promise<void>
  /** A success after `failing`. */
  recovered?(tx: Tx, endpoint: EndpointOf): Promise<void>
}

/** `gone`: it answered 410. `failing`: no success for five days. */
export type DisabledReason = "gone" | "failing"

/** Where to send. */
export interface Endpoint {
  readonly target: Target
  /** `whsec_…`, the newest first; all of them sign, so that a receiver may still have the one before. */
  readonly secrets: readonly string[]
  /** Of one attempt. 15 when left out. */
  readonly timeoutSeconds?: number
  /** Default: `standard`. */
  readonly format?: "standard" | "cloudevents"
  /** Without a bound when left out. */
  readonly maxPerSecond?: number | null
  /** Seconds before each retry, the last one repeated; the engine's own schedule when left out. */
  readonly retryScheduleSeconds?: readonly number[] | null
}

export type Target =
  | {
      readonly url: string
      /** Beside the engine's own, which cannot be replaced. */
      readonly headers?: Readonly<Record<string, string>>
    }
  /**
   * A function: it gets the envelope. It must end at the signal, and within `timeoutMs` of the time at which it begins;
   * the engine waits until it has ended.
   */
  | { readonly name: string; readonly invoke: (call: Invocation) => Promise<InvocationAnswer> }

export interface Invocation {
  /** As it would be sent. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** 2xx is a success; 500 a failure, 504 a timeout, 429 a throttle. */
export interface InvocationAnswer {
  readonly status: number
  readonly body: string
}

/** What happened, as its receivers are told. */
export interface NewMessage {
  /** `evt_` and a UUIDv7 of `newId()`: the `webhook-id` of every delivery of it. */
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  /** Whom the attempts are counted to. */
  readonly projectId: string | null
  /** What it belongs to, such as a topic: messages are read back by it. */
  readonly streamId: string
  readonly type: string
  readonly source: string | null
  /** Left out of the envelope when null. */
  readonly topic: string | null
  readonly at: Date
  /** JSON. At most 256 KiB; sent as it is. */
  readonly data: string
  readonly recipients: readonly Recipient[]
}

export interface Recipient {
  readonly endpointId: string
  /** Attempts after the first: 0 to 20. */
  readonly maxRetries: number
  /**
   * Deliveries of the endpoint that share this key are sent one at a time in the order in which they were enqueued; the
   * first holds up the others until it is delivered or dead.
   */
  readonly orderingKey?: string | undefined
}

export type TestMessage = Omit<NewMessage, "recipients"> & { readonly endpointId: string }

export const DELIVERY_STATUSES = [
  "pending", // Waits for its first attempt.
  "delivering", // An attempt is under way.
  "delivered",
  "retrying", // Has failed, and waits for its next attempt.
  "failed", // For good, before its retries were used up: the endpoint is gone, or it was a test.
  "dead_lettered", // Its retries are used up, or the endpoint was switched off.
  "cancelled", // The endpoint was deleted or switched off by its owner.
] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export type AttemptTrigger = "scheduled" | "manual" | "test" | "replay"

export type AttemptErrorCode =
  | "timeout"
  | "dns_error"
  | "connect_error"
  | "tls_error"
  | "blocked_address"
  | "redirect_refused"
  | "http_status"
  | "response_too_large"
  | "function_error"

/** One try. Instances travel as they are: the fields are those of the wire. */
export interface Attempt {
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  readonly trigger: AttemptTrigger
  /** RFC 3339. */
  readonly started_at: string
  /** Null when there was no answer. */
  readonly status_code: number | null
  readonly response_time_ms: number
  readonly url: string
  readonly remote_ip: string | null
  /** Its first 4 KiB; null when there was no answer. */
  readonly response_body: string | null
  /** Null when it succeeded. */
  readonly error: { readonly code: AttemptErrorCode; readonly message: string } | null
}

/** A message on its way to one endpoint, with all that was tried. */
export interface Delivery {
  readonly id: string
  readonly tenantId: string
  readonly endpointId: string
  /** `evt_…` */
  readonly eventId: string
  readonly eventType: string
  readonly status: DeliveryStatus
  readonly attemptCount: number
  readonly maxRetries: number
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly completedAt: Date | null
  readonly attempts: readonly Attempt[]
}

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined
  readonly eventType?: string | undefined
  /** Created at or after, and before. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly limit: number
  readonly offset: number
}

export interface ReplayRange {
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** Of which state; `dead_lettered` when left out. */
  readonly status?: "delivered" | "failed" | "dead_lettered" | "cancelled" | undefined
}

export interface EndpointHealth {
  /** Attempts without a success between them. */
  readonly consecutiveFailures: number
  /** When the first of them was; null when the last attempt succeeded. */
  readonly failingSince: Date | null
  readonly lastDeliveryAt: Date | null
  readonly lastSuccessAt: Date | null
}

export const deliveries = openedToken<Deliveries>("deliveries")
