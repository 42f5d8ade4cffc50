import { createHash, createPrivateKey } from "node:crypto"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import type { Clock } from "../../../../kernel/clock.ts"
import { createTokens, signToken } from "../../../jwt.ts"
import { fitContent } from "../../content.ts"
import type { ApnsCredentials, Push, PushConnect, PushOutcome } from "../../port.ts"
import { retryAfterMs } from "../../retry-after.ts"

type ApnsPush = Extract<Push, { provider: "apns" }>

const URLS = { production: "https://api.push.apple.com", sandbox: "https://api.sandbox.push.apple.com" }
/** Apple refuses tokens older than an hour, and ones made more often than every 20 minutes. */
const TOKEN_MS = 40 * 60_000
const CONTENT_BYTES_MAX = 4_000
const ANSWER_BYTES_MAX = 4_096
const REQUEST_MS_MAX = 15_000
/** A session is closed once nobody has used it for so long. */
const IDLE_MS = 60_000
const SESSIONS_MAX = 100
/** What says that the token itself is no good; Apple tells these by its codes. */
const GONE: ReadonlySet<string> = new Set(["BadDeviceToken", "Unregistered", "ExpiredToken"])

interface ApnsResponse {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: string
}

const reasonCode = (body: string): string => {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown }
    return typeof reason === "string" ? reason.slice(0, 60) : ""
  } catch {
    return ""
  }
}

const outcomeOf = ({ status, retryAfter, body }: ApnsResponse, nowMs: number): PushOutcome => {
  if (status === 200) return { kind: "sent", status }
  const code = reasonCode(body)
  const reason = `APNs answered ${status}${code === "" ? "" : ` ${code}`}`
  if (status === 410 || GONE.has(code)) return { kind: "gone", status, reason }
  if (status === 429 || status >= 500)
    return { kind: "later", status, reason, afterMs: retryAfterMs(retryAfter, nowMs) }
  return { kind: "failed", status, reason }
}

/** An identifier takes at most 64 bytes. */
const collapseId = (key: string): string => createHash("sha256").update(key).digest("base64url")

const payloadOf = ({ content, delivery }: ApnsPush): string => {
  const isQuiet = delivery.priority === "min" || delivery.priority === "low"
  const payload = fitContent(content, CONTENT_BYTES_MAX, ({ title, body, ...rest }) => ({
    aps: {
      alert: { title, body },
      ...(isQuiet ? { "interruption-level": "passive" } : { sound: "default" }),
      ...(rest.category !== null && { category: rest.category }),
    },
    ...{ notification_id: rest.id, type: rest.type, action_url: rest.actionUrl, data: rest.data },
  }))
  return JSON.stringify(payload)
}

const exchange = (
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<ApnsResponse> =>
  new Promise((resolve, reject) => {
    const stream = session.request(headers, { signal })
    let status = 0
    let retryAfter: string | undefined
    let text = ""
    stream.setEncoding("utf8")
    stream.on("response", answered => {
      status = Number(answered[":status"])
      retryAfter = answered["retry-after"] as string | undefined
    })
    stream.on("data", (chunk: string) => {
      text = (text + chunk).slice(0, ANSWER_BYTES_MAX)
    })
    // A session that breaks off ends its streams as well.
    stream.on("end", () => status !== 0 && resolve({ status, retryAfter, body: text }))
    stream.on("error", reject)
    stream.on("close", () => reject(new Error("the stream was closed")))
    stream.end(body)
  })

type Opened = { readonly session: ClientHttp2Session } | { readonly outcome: PushOutcome }

/** APNs over HTTP/2, one session a host, with tokens of the provider's key (ES256). */
export const openApns = ({ connect, clock }: { readonly connect: PushConnect; readonly clock: Clock }) => {
  const tokens = createTokens(clock.now)
  const sessions = new Map<string, Promise<Opened>>()

  const start = async (url: string, signal: AbortSignal): Promise<Opened> => {
    const connected = await connect(url, signal)
    if (connected.kind === "unanswered") {
      const kind = connected.isFinal ? "failed" : "later"
      return { outcome: { kind, status: null, reason: connected.message, afterMs: undefined } }
    }
    const session = connectHttp2(url, { createConnection: () => connected.socket })
    session.setTimeout(IDLE_MS, () => session.close())
    // A session's error reaches its streams too; without a listener it would end the process.
    session.on("error", () => undefined)
    return { session }
  }

  const sessionTo = async (url: string, signal: AbortSignal): Promise<Opened> => {
    const known = await sessions.get(url)
    if (known && "session" in known && !known.session.closed && !known.session.destroyed) return known
    const starting = start(url, signal)
    if (sessions.size >= SESSIONS_MAX) sessions.clear()
    sessions.set(url, starting)
    const opened = await starting
    if ("outcome" in opened) sessions.delete(url)
    else opened.session.once("close", () => sessions.get(url) === starting && sessions.delete(url))
    return opened
  }

  const authorization = ({ keyId, teamId, privateKey }: ApnsCredentials): string => {
    const name = [teamId, keyId, createHash("sha256").update(privateKey).digest("base64")].join(" ")
    const token = tokens.of(name, TOKEN_MS, () =>
      signToken(
        "ES256",
        createPrivateKey(privateKey),
        { kid: keyId },
        { iss: teamId, iat: Math.floor(clock.now() / 1_000) },
      ),
    )
    return `bearer ${token}`
  }

  return {
    async send(push: ApnsPush, given: AbortSignal): Promise<PushOutcome> {
      const { credentials, delivery, token, environment, content } = push
      const signal = AbortSignal.any([given, AbortSignal.timeout(REQUEST_MS_MAX)])
      const opened = await sessionTo(credentials.url ?? URLS[environment], signal)
      if ("outcome" in opened) return opened.outcome
      const isUrgent = delivery.priority === "high" || delivery.priority === "urgent"
      const headers = {
        ":method": "POST",
        ":path": `/3/device/${token}`,
        authorization: authorization(credentials),
        "content-type": "application/json",
        "apns-topic": credentials.topic,
        "apns-push-type": "alert",
        "apns-id": content.id,
        "apns-priority": isUrgent || delivery.priority === "default" ? "10" : "5",
        "apns-expiration": String(Math.floor(clock.now() / 1_000) + delivery.ttlSeconds),
        ...(delivery.collapseKey !== null && { "apns-collapse-id": collapseId(delivery.collapseKey) }),
      }
      try {
        return outcomeOf(await exchange(opened.session, headers, payloadOf(push), signal), clock.now())
      } catch {
        return { kind: "later", status: null, reason: "APNs did not answer", afterMs: undefined }
      }
    },

    [Symbol.dispose]() {
      for (const starting of sessions.values())
        void starting.then(opened => "session" in opened && opened.session.destroy())
    },
  }
}
