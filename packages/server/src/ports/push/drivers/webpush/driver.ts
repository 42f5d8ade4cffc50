import { createHash, createPrivateKey } from "node:crypto"
import type { Clock } from "../../../../kernel/clock.ts"
import { createTokens, signToken } from "../../../jwt.ts"
import { fitContent } from "../../content.ts"
import type { Push, PushAnswer, PushFetch, PushOutcome, PushPriority, VapidCredentials } from "../../port.ts"
import { retryAfterMs } from "../../retry-after.ts"
import { encrypt } from "./encryption.ts"

type WebPush = Extract<Push, { provider: "webpush" }>

/** Some services take less than the 4,096 bytes of RFC 8030. */
const PLAINTEXT_BYTES_MAX = 3_000
/** At most 24 hours (RFC 8292, 2); services' clocks may be off by some. */
const TOKEN_SECONDS = 12 * 3_600
/** RFC 8030, 5.4: at most 32 characters of base64url. */
const TOPIC_LENGTH = 32

/** RFC 8030, 5.3. */
const urgencies: Readonly<Record<PushPriority, string>> = {
  min: "very-low",
  low: "low",
  default: "normal",
  high: "high",
  urgent: "high",
}

/** What a service worker gets as JSON. */
const form = ({ id, title, body, type, category, actionUrl, data }: WebPush["content"]) => ({
  ...{ id, title, body, type, category, action_url: actionUrl, data },
})

const topicOf = (collapseKey: string): string =>
  createHash("sha256").update(collapseKey).digest("base64url").slice(0, TOPIC_LENGTH)

const outcomeOf = (answer: PushAnswer, nowMs: number): PushOutcome => {
  if (answer.kind === "unanswered") {
    const kind = answer.isFinal ? "failed" : "later"
    return { kind, status: null, reason: answer.message, afterMs: undefined }
  }
  const { status, headers } = answer
  const reason = `the push service answered ${status}`
  if (status >= 200 && status < 300) return { kind: "sent", status }
  if (status === 404 || status === 410) return { kind: "gone", status, reason }
  if (status === 429 || status === 408 || status >= 500)
    return { kind: "later", status, reason, afterMs: retryAfterMs(headers["retry-after"], nowMs) }
  return { kind: "failed", status, reason }
}

export const createWebPush = ({ fetch, clock }: { readonly fetch: PushFetch; readonly clock: Clock }) => {
  const tokens = createTokens(clock.now)

  /** RFC 8292: who sends, to that origin alone. */
  const authorization = ({ publicKey, privateKey, subject }: VapidCredentials, audience: string): string => {
    const token = tokens.of([publicKey, subject, audience].join(" "), (TOKEN_SECONDS / 2) * 1_000, () =>
      signToken(
        "ES256",
        createPrivateKey(privateKey),
        {},
        { aud: audience, exp: Math.floor(clock.now() / 1_000) + TOKEN_SECONDS, sub: subject },
      ),
    )
    return `vapid t=${token}, k=${publicKey}`
  }

  const encrypted = ({ content, subscription }: WebPush): Buffer | undefined => {
    const receiver = {
      publicKey: Buffer.from(subscription.p256dh, "base64url"),
      authSecret: Buffer.from(subscription.auth, "base64url"),
    }
    const plaintext = JSON.stringify(fitContent(content, PLAINTEXT_BYTES_MAX, form))
    try {
      return encrypt(Buffer.from(plaintext), receiver)
    } catch {
      return undefined
    }
  }

  return async (push: WebPush, signal: AbortSignal): Promise<PushOutcome> => {
    const { subscription, credentials, delivery } = push
    const body = encrypted(push)
    if (!body)
      return { kind: "failed", status: null, reason: "the subscription's key is not a point of P-256" }
    const answer = await fetch({
      url: subscription.endpoint,
      method: "POST",
      headers: {
        authorization: authorization(credentials, new URL(subscription.endpoint).origin),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        ttl: String(delivery.ttlSeconds),
        urgency: urgencies[delivery.priority],
        ...(delivery.collapseKey !== null && { topic: topicOf(delivery.collapseKey) }),
      },
      body,
      signal,
    })
    return outcomeOf(answer, clock.now())
  }
}
