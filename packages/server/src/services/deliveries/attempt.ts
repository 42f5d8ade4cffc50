import { newId } from "../../kernel/id.ts"
import type { BufferedAnswer, Failure, Outbound } from "../../kernel/outbound/outbound.ts"
import type { Attempt, AttemptErrorCode, AttemptTrigger, Endpoint, InvocationAnswer } from "./deliveries.ts"
import { type Envelope, envelopeOf, type Message } from "./envelope.ts"
import type { AttemptResult } from "./rules.ts"

/** What is kept of an answer. */
const RESPONSE_BYTES_KEPT = 4_096
/** An answer over this is refused rather than read. */
const RESPONSE_BYTES_MAX = 65_536
const TIMEOUT_SECONDS_DEFAULT = 15
/** A connection that fails this fast is tried once more within the attempt: a receiver that restarts costs no retry. */
const RESEND_WITHIN_MS = 1_000

const ERROR_CODES: Readonly<Record<Failure["kind"], AttemptErrorCode>> = {
  refused: "blocked_address",
  unresolved: "dns_error",
  unreachable: "connect_error",
  tls: "tls_error",
  timeout: "timeout",
  broken: "connect_error",
  too_large: "response_too_large",
  aborted: "timeout",
}

type AttemptError = Attempt["error"]

const httpError = (status: number): AttemptError => {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) {
    return { code: "redirect_refused", message: `The endpoint redirects (${status}), which is not followed.` }
  }
  return { code: "http_status", message: `The endpoint answered with ${status}.` }
}

/** PostgreSQL's text has no null character, and a byte sequence may be cut in the middle. */
const textOf = (body: Buffer): string =>
  body.subarray(0, RESPONSE_BYTES_KEPT).toString("utf8").replaceAll("\0", "�")

interface Tried {
  readonly answer: BufferedAnswer | undefined
  readonly error: AttemptError
  readonly durationMs: number
}

const judge = (result: BufferedAnswer | Failure): Tried => {
  const { durationMs } = result
  if (result.kind === "answered") return { answer: result, error: httpError(result.status), durationMs }
  return {
    answer: undefined,
    error: { code: ERROR_CODES[result.kind], message: result.message },
    durationMs,
  }
}

export interface AttemptRequest {
  readonly deliveryId: string
  readonly number: number
  readonly trigger: AttemptTrigger
  readonly message: Message
  readonly endpoint: Endpoint
  readonly nowMs: number
  readonly signal: AbortSignal
}

export interface AttemptMade {
  readonly attempt: Attempt
  readonly verdict: AttemptResult
}

const post = async (
  outbound: Pick<Outbound, "request">,
  url: string,
  { body, headers }: Envelope,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Tried> => {
  const send = (timeoutMs: number) =>
    outbound.request({
      ...{ url, method: "POST" as const, headers, body, timeoutMs, signal },
      // The receiver knows a delivery again by its id.
      idempotent: true,
      responseBytesMax: RESPONSE_BYTES_MAX,
      overflow: "fail",
    })
  const first = await send(timeoutMs)
  if (first.kind !== "unreachable" || first.durationMs > RESEND_WITHIN_MS) return judge(first)
  const second = await send(timeoutMs - first.durationMs)
  return judge({ ...second, durationMs: first.durationMs + second.durationMs })
}

const functionError = (answer: InvocationAnswer): AttemptError =>
  answer.status >= 200 && answer.status < 300
    ? null
    : {
        code: answer.status === 504 ? "timeout" : "function_error",
        message: `The function answered with ${answer.status}.`,
      }

/**
 * The function's answer. It is waited for until the function has ended, which its own time limit sees to: a retry while
 * it still runs would repeat its effects. Only the end of this process cuts it short.
 */
const invoke = async (
  target: Extract<Endpoint["target"], { invoke: unknown }>,
  envelope: Envelope,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<InvocationAnswer> => {
  const cutShort = Promise.withResolvers<InvocationAnswer>()
  const cut = () => cutShort.resolve({ status: 504, body: "" })
  signal.addEventListener("abort", cut, { once: true })
  try {
    return await Promise.race([target.invoke({ ...envelope, timeoutMs, signal }), cutShort.promise])
  } catch (error) {
    return { status: 500, body: error instanceof Error ? error.message : String(error) }
  } finally {
    signal.removeEventListener("abort", cut)
  }
}

/** One signed attempt. Never rejects for what the endpoint does or is. */
export const attemptDelivery = async (
  outbound: Pick<Outbound, "request">,
  request: AttemptRequest,
): Promise<AttemptMade> => {
  const { endpoint, message, number, trigger, nowMs, signal } = request
  const { target, timeoutSeconds = TIMEOUT_SECONDS_DEFAULT } = endpoint
  const timeoutMs = timeoutSeconds * 1_000
  const envelope = envelopeOf(message, endpoint, request)
  const common = { id: newId(), attempt: number, trigger, started_at: new Date(nowMs).toISOString() }
  if ("url" in target) {
    const { answer, error, durationMs } = await post(outbound, target.url, envelope, timeoutMs, signal)
    const status_code = answer?.status ?? null
    return {
      attempt: {
        ...common,
        status_code,
        response_time_ms: durationMs,
        url: target.url,
        remote_ip: answer?.address ?? null,
        response_body: answer ? textOf(answer.body) : null,
        error,
      },
      verdict: {
        statusCode: status_code,
        errorCode: error?.code ?? null,
        retryAfter: answer?.headers["retry-after"],
      },
    }
  }
  const startedMs = performance.now()
  const answer = await invoke(target, envelope, timeoutMs, signal)
  const error = functionError(answer)
  return {
    attempt: {
      ...common,
      status_code: answer.status,
      response_time_ms: Math.round(performance.now() - startedMs),
      url: target.name,
      remote_ip: null,
      response_body: textOf(Buffer.from(answer.body)),
      error,
    },
    verdict: { statusCode: answer.status, errorCode: error?.code ?? null, retryAfter: undefined },
  }
}
