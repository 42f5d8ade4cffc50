import { createHash, createPrivateKey } from "node:crypto"
import type { Clock } from "../../../../kernel/clock.ts"
import { signToken } from "../../../jwt.ts"
import { fitContent } from "../../content.ts"
import type { FcmCredentials, Push, PushAnswer, PushFetch, PushOutcome } from "../../port.ts"
import { retryAfterMs } from "../../retry-after.ts"

type FcmPush = Extract<Push, { provider: "fcm" }>

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const ASSERTION_SECONDS = 3_600
/** A token is not used in its last minutes. */
const TOKEN_RESERVE_MS = 5 * 60_000
/** Data messages take 4,096 bytes. */
const CONTENT_BYTES_MAX = 3_500
const CREDENTIALS_MAX = 1_000

const json = (body: Uint8Array): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"))
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** `UNREGISTERED` and its like: the code of FCM's own, not the text beside it. */
const errorCode = (body: Uint8Array): string | undefined => {
  const { error } = json(body) as { error?: { status?: unknown; details?: unknown } }
  const details = Array.isArray(error?.details) ? error.details : []
  const code = details.map(detail => (detail as { errorCode?: unknown } | null)?.errorCode).find(Boolean)
  return [code, error?.status].find(value => typeof value === "string") as string | undefined
}

const outcomeOf = (answer: PushAnswer, nowMs: number): PushOutcome => {
  if (answer.kind === "unanswered") {
    const kind = answer.isFinal ? "failed" : "later"
    return { kind, status: null, reason: answer.message, afterMs: undefined }
  }
  const { status, headers, body } = answer
  if (status === 200) return { kind: "sent", status }
  const code = errorCode(body)
  const reason = `FCM answered ${status}${code === undefined ? "" : ` ${code.slice(0, 60)}`}`
  if (code === "UNREGISTERED" || code === "SENDER_ID_MISMATCH") return { kind: "gone", status, reason }
  if (status === 429 || status >= 500 || status === 401)
    return { kind: "later", status, reason, afterMs: retryAfterMs(headers["retry-after"], nowMs) }
  return { kind: "failed", status, reason }
}

/** FCM's data are texts. */
const dataOf = ({ id, type, category, actionUrl, data }: FcmPush["content"]): Record<string, string> => ({
  notification_id: id,
  ...(type !== null && { type }),
  ...(category !== null && { category }),
  ...(actionUrl !== null && { action_url: actionUrl }),
  ...(Object.keys(data).length > 0 && { data: JSON.stringify(data) }),
})

const messageOf = ({ token, content, delivery }: FcmPush) => ({
  token,
  ...fitContent(content, CONTENT_BYTES_MAX, fitted => ({
    notification: { title: fitted.title, body: fitted.body },
    data: dataOf(fitted),
  })),
  android: {
    priority: delivery.priority === "high" || delivery.priority === "urgent" ? "HIGH" : "NORMAL",
    ttl: `${delivery.ttlSeconds}s`,
    ...(delivery.collapseKey !== null && { collapse_key: delivery.collapseKey }),
  },
})

type Access =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "none"; readonly outcome: PushOutcome }

export const createFcm = ({ fetch, clock }: { readonly fetch: PushFetch; readonly clock: Clock }) => {
  const known = new Map<string, { readonly token: string; readonly usableUntilMs: number }>()

  const nameOf = (credentials: FcmCredentials): string =>
    createHash("sha256").update(JSON.stringify(credentials)).digest("base64")

  /** An access token for a service account (RFC 7523). */
  const access = async (credentials: FcmCredentials, signal: AbortSignal): Promise<Access> => {
    const name = nameOf(credentials)
    const found = known.get(name)
    if (found && clock.now() < found.usableUntilMs) return { kind: "token", token: found.token }
    const iat = Math.floor(clock.now() / 1_000)
    const { clientEmail: iss, tokenUrl: aud } = credentials
    const claims = { iss, aud, scope: SCOPE, iat, exp: iat + ASSERTION_SECONDS }
    const assertion = signToken("RS256", createPrivateKey(credentials.privateKey), {}, claims)
    const answer = await fetch({
      url: credentials.tokenUrl,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ grant_type: GRANT, assertion }).toString(),
      signal,
    })
    const outcome = outcomeOf(answer, clock.now())
    if (answer.kind === "unanswered" || outcome.kind !== "sent") return { kind: "none", outcome }
    const { access_token: token, expires_in: seconds } = json(answer.body)
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
      const reason = "Google gave no access token"
      return { kind: "none", outcome: { kind: "later", status: answer.status, reason, afterMs: undefined } }
    }
    const lifeMs = (typeof seconds === "number" ? seconds : ASSERTION_SECONDS) * 1_000
    if (known.size >= CREDENTIALS_MAX) known.clear()
    known.set(name, { token, usableUntilMs: clock.now() + lifeMs - TOKEN_RESERVE_MS })
    return { kind: "token", token }
  }

  return async (push: FcmPush, signal: AbortSignal): Promise<PushOutcome> => {
    const { credentials } = push
    const admitted = await access(credentials, signal)
    if (admitted.kind === "none") {
      // A refused service account says nothing of the device.
      const { outcome } = admitted
      return outcome.kind === "gone" ? { ...outcome, kind: "failed" } : outcome
    }
    const answer = await fetch({
      url: `${credentials.url}/v1/projects/${credentials.projectId}/messages:send`,
      method: "POST",
      headers: { authorization: `Bearer ${admitted.token}`, "content-type": "application/json" },
      body: JSON.stringify({ message: messageOf(push) }),
      signal,
    })
    const outcome = outcomeOf(answer, clock.now())
    // Revoked before its time: the next attempt asks for another.
    if (answer.kind === "answered" && answer.status === 401) known.delete(nameOf(credentials))
    return outcome
  }
}
