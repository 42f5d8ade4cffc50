import type { CronTargetOf, CronTargetType } from "@svc/contract"
import type { ScheduledOutcome, ScheduledRun } from "../../core/schedule-targets.ts"
import { fault } from "../../kernel/fault.ts"
import type { BufferedAnswer, Failure, Outbound } from "../../kernel/outbound/outbound.ts"
import { signatureOf } from "../../services/deliveries/signature.ts"

type HttpTarget = CronTargetOf<"http">

const RESPONSE_BYTES_MAX = 65_536
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD"])
/** Ours say what was sent, and cannot be replaced. */
const RESERVED = /^(?:webhook-|x-svc-)/i
const CREDENTIAL = /^(?:authorization|proxy-authorization|cookie)$|token|secret|password|key|auth/i
const MASK = "***"

/** Throws `invalid_parameter` for a request that would be refused whenever it is made. */
export const checkHttpTarget = (
  outbound: Outbound,
  { url, headers = {}, method, body }: HttpTarget,
): void => {
  const reserved = Object.keys(headers).find(name => RESERVED.test(name))
  const reason =
    outbound.urlProblem(url) ??
    outbound.headersProblem(headers) ??
    (reserved && `the header ${reserved} is reserved`) ??
    (body !== undefined && BODILESS.has(method ?? "POST") ? `${method} has no body` : undefined)
  if (reason !== undefined) throw fault("invalid_parameter", { reason: `target: ${reason}` })
}

const masked = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, CREDENTIAL.test(name) ? MASK : value]),
  )

/** A target as its record shows it. */
export const shownTarget = (target: CronTargetOf<CronTargetType>): CronTargetOf<CronTargetType> =>
  target.type === "http" && target.headers ? { ...target, headers: masked(target.headers) } : target

/** A target that was read, changed and given back: hidden values stay what they are, at the same origin only. */
export const unmasked = (
  given: CronTargetOf<CronTargetType>,
  before: CronTargetOf<CronTargetType>,
): CronTargetOf<CronTargetType> => {
  if (given.type !== "http" || before.type !== "http" || !given.headers) return given
  // Whoever may not read a credential must not send it elsewhere either.
  if (originOf(given.url) !== originOf(before.url)) return given
  const known = before.headers ?? {}
  const headers = Object.entries(given.headers).map(([name, value]) => [
    name,
    value === MASK ? (known[name] ?? value) : value,
  ])
  return { ...given, headers: Object.fromEntries(headers) }
}

/** What requests to one receiver have in common. Never throws. */
export const originOf = (url: string): string => {
  try {
    return new URL(url).origin
  } catch {
    return url
  }
}

const contentOf = ({ body, method = "POST" }: HttpTarget): { text: string; type?: string } => {
  if (BODILESS.has(method) || body === undefined) return { text: "" }
  if (typeof body === "string") return { text: body, type: "text/plain; charset=utf-8" }
  return { text: JSON.stringify(body), type: "application/json" }
}

const outcomeOf = (answer: BufferedAnswer | Failure): ScheduledOutcome => {
  if (answer.kind !== "answered") {
    return { status: answer.kind === "timeout" ? "timed_out" : "failed", error: answer.message }
  }
  const { status: statusCode, body } = answer
  const kept = { statusCode, responseBody: body.toString("utf8") }
  if (statusCode >= 200 && statusCode < 300) return { status: "succeeded", ...kept }
  const error =
    statusCode >= 300 && statusCode < 400
      ? `The target redirects (${statusCode}), which is not followed.`
      : `The target answered with ${statusCode}.`
  return { status: "failed", ...kept, error }
}

/** One request, signed as Standard Webhooks 1.0.0 says; the execution's id is the same at each attempt. */
export const runHttpTarget = async (
  { outbound, now }: { readonly outbound: Outbound; readonly now: () => number },
  run: ScheduledRun,
  target: HttpTarget,
  signingSecret: string,
): Promise<ScheduledOutcome> => {
  const { text, type } = contentOf(target)
  const timestamp = Math.floor(now() / 1_000)
  const message = { id: run.executionId, timestamp, body: text }
  const { method = "POST" } = target
  const answer = await outbound.request({
    url: target.url,
    method,
    headers: {
      "user-agent": "svc-cron/1",
      ...(type && { "content-type": type }),
      ...Object.fromEntries(
        Object.entries(target.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      "webhook-id": run.executionId,
      "webhook-timestamp": `${timestamp}`,
      "webhook-signature": signatureOf([signingSecret], message),
      "x-svc-schedule": run.scheduleId,
      "x-svc-attempt": `${run.attempt}`,
      "x-svc-scheduled-for": run.scheduledFor.toISOString(),
    },
    ...(!BODILESS.has(method) && { body: text }),
    timeoutMs: run.timeoutMs,
    responseBytesMax: RESPONSE_BYTES_MAX,
    signal: run.signal,
  })
  return outcomeOf(answer)
}
