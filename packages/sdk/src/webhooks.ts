/** For those who receive webhooks and event deliveries: whether a request is what the platform sent. */

/** What is delivered, unless the subscription asks for CloudEvents. */
export interface WebhookEvent<Data = unknown> {
  /** The same at every attempt: remember it to act once. */
  readonly id: string
  readonly type: string
  /** When it happened, in RFC 3339. */
  readonly timestamp: string
  readonly source: string | null
  readonly topic?: string
  readonly tenant_id: string
  readonly data: Data
}

/** The signature is wrong or too old. Respond with 400 or 401, and ignore the content. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError"
}

/** Those of `fetch`, or of Node's `IncomingMessage`. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far the sender's clock and delays may be off, either way. Default: 300. */
  readonly toleranceSeconds?: number
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number
}

const TOLERANCE_SECONDS = 300
const SECRET_PREFIX = "whsec_"
const VERSION = "v1,"

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value =
    typeof headers.get === "function"
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof value !== "string" || value === "")
    throw new WebhookVerificationError(`the request has no ${name} header, or several`)
  return value
}

/** Undefined for what is not base64. */
const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

const keyOf = async (secret: string) => {
  const bytes = fromBase64(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret)
  if (!bytes || bytes.length === 0) throw new TypeError("a webhook secret is whsec_ and base64")
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
}

/** Compares in constant time, so that timing does not reveal the signature byte by byte. */
const areEqual = (expected: Uint8Array, given: Uint8Array): boolean => {
  if (expected.length !== given.length) return false
  let difference = 0
  for (const [at, byte] of expected.entries()) difference |= byte ^ (given[at] ?? 0)
  return difference === 0
}

const checkTimestamp = (
  text: string,
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now }: VerifyOptions,
) => {
  if (!/^\d{1,12}$/.test(text)) throw new WebhookVerificationError("webhook-timestamp is not a time")
  const offSeconds = Math.abs(Math.floor(now() / 1000) - Number(text))
  if (offSeconds > toleranceSeconds)
    throw new WebhookVerificationError("the request is too old, or from the future")
}

const concat = (head: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const start = new TextEncoder().encode(head)
  const whole = new Uint8Array(start.length + body.length)
  whole.set(start)
  whole.set(body, start.length)
  return whole
}

/**
 * Gives the event of a request that was signed with the secret, or with one of several; otherwise throws a
 * WebhookVerificationError. `body` must be the bytes as they came: JSON that was parsed and written again is another text.
 * The scheme is Standard Webhooks 1.0.0, so any library for that verifies the same requests.
 */
export const verifyWebhook = async <Data = unknown>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent<Data>> => {
  const id = headerOf(headers, "webhook-id")
  const timestamp = headerOf(headers, "webhook-timestamp")
  const given = headerOf(headers, "webhook-signature")
    .split(" ")
    .flatMap(signature =>
      signature.startsWith(VERSION) ? fromBase64(signature.slice(VERSION.length)) : undefined,
    )
    .filter(signature => signature !== undefined)
  checkTimestamp(timestamp, options)

  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  const signed = concat(`${id}.${timestamp}.`, bytes)
  let isGenuine = false
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const expected = new Uint8Array(await crypto.subtle.sign("HMAC", await keyOf(one), signed))
    for (const signature of given) isGenuine = areEqual(expected, signature) || isGenuine
  }
  if (!isGenuine) throw new WebhookVerificationError("no signature of the request is right")
  return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent<Data>
}
