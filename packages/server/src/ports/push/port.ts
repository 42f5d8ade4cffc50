import type { Duplex } from "node:stream"
import { openedToken } from "../../kernel/token.ts"

/**
 * Messages to devices, by the push services of browsers and phones.
 *
 * Promises, tested by `conformance.ts` against a service that a test scripts:
 *
 * - A send resolves for whatever the service answers, and rejects for nothing but a fault of the program.
 * - `gone` means that the device will never take a message again. It is told by the service's codes, never by its texts.
 * - `later` carries the service's own Retry-After where it gave one.
 * - Nothing of a credential or of a device's address is in a `reason`.
 * - Content longer than the service takes loses its `data` first, and then the end of its body.
 */
export interface PushPort extends AsyncDisposable {
  send(push: Push, signal: AbortSignal): Promise<PushOutcome>
}

export type Push = { readonly content: PushContent; readonly delivery: PushDelivery } & PushTarget

export interface PushContent {
  /** Of the notification. */
  readonly id: string
  readonly title: string
  readonly body: string
  readonly type: string | null
  readonly category: string | null
  readonly actionUrl: string | null
  readonly data: Readonly<Record<string, unknown>>
}

export interface PushDelivery {
  /** How long the service may keep it for a device that is off. */
  readonly ttlSeconds: number
  readonly priority: PushPriority
  /** A message takes the place of one with the same key that still waits. */
  readonly collapseKey: string | null
}

export type PushPriority = "min" | "low" | "default" | "high" | "urgent"

export type PushTarget =
  | {
      readonly provider: "webpush"
      readonly subscription: WebPushSubscription
      readonly credentials: VapidCredentials
    }
  | { readonly provider: "fcm"; readonly token: string; readonly credentials: FcmCredentials }
  | {
      readonly provider: "apns"
      readonly token: string
      readonly environment: "production" | "sandbox"
      readonly credentials: ApnsCredentials
    }

export interface WebPushSubscription {
  readonly endpoint: string
  /** The browser's public key: an uncompressed point of P-256, in base64url. */
  readonly p256dh: string
  /** 16 bytes in base64url. */
  readonly auth: string
}

export interface VapidCredentials {
  /** An uncompressed point of P-256, in base64url. */
  readonly publicKey: string
  /** PKCS #8 in PEM. */
  readonly privateKey: string
  /** `mailto:` or `https:`. */
  readonly subject: string
}

export interface FcmCredentials {
  readonly projectId: string
  readonly clientEmail: string
  /** PEM. */
  readonly privateKey: string
  readonly url: string
  readonly tokenUrl: string
}

export interface ApnsCredentials {
  readonly teamId: string
  readonly keyId: string
  /** PEM. */
  readonly privateKey: string
  readonly topic: string
  /** Apple's when undefined. */
  readonly url: string | undefined
}

export type PushOutcome =
  | { readonly kind: "sent"; readonly status: number }
  | { readonly kind: "gone"; readonly status: number; readonly reason: string }
  | {
      readonly kind: "later"
      /** Null when the service was not reached. */
      readonly status: number | null
      readonly reason: string
      readonly afterMs: number | undefined
    }
  | { readonly kind: "failed"; readonly status: number | null; readonly reason: string }

/** What drivers ask of the platform's guarded client: the devices' addresses come from users. */
export interface PushRequest {
  readonly url: string
  readonly method: "POST"
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly signal: AbortSignal
}

export type PushAnswer =
  | {
      readonly kind: "answered"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: Uint8Array
    }
  | {
      readonly kind: "unanswered"
      /** Repeating the request changes nothing: its target is out of bounds. */
      readonly isFinal: boolean
      readonly message: string
    }

export type PushFetch = (request: PushRequest) => Promise<PushAnswer>

/** A connection to a host that the platform's rules admit, for protocols its client does not speak. */
export type PushConnect = (
  url: string,
  signal: AbortSignal,
) => Promise<
  | { readonly kind: "connected"; readonly socket: Duplex }
  | { readonly kind: "unanswered"; readonly isFinal: boolean; readonly message: string }
>

/** Takes messages to browsers and phones. */
export const push = openedToken<PushPort>("push")
