import { SvcError } from "./errors.ts"
import type { Prepared } from "./prepare.ts"
import { errorFrom, type ParsedResponse, readAnswer } from "./reply.ts"
import { retryDelayMs } from "./retry.ts"
import type { Settings } from "./settings.ts"
import type { RateLimit } from "./surface.ts"

/** Sends requests, repeats those that may be, and remembers the limits the platform last told. */
export const createTransport = (settings: Settings) => {
  let rateLimit: RateLimit | undefined

  const attempt = async ({ url, init, route, signal, timeoutMs }: Prepared): Promise<ParsedResponse> => {
    const timer = startTimer(timeoutMs)
    try {
      const signals = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal
      const response = await settings.fetch(url, { ...init, signal: signals })
      rateLimit = readRateLimit(response.headers) ?? rateLimit
      return await readAnswer(response, route, settings.numbers)
    } catch (cause) {
      signal?.throwIfAborted()
      timer.signal.throwIfAborted()
      throw networkError(url, cause)
    } finally {
      timer.stop()
    }
  }

  /** Resolves with a status below 400. Throws SvcError, or the reason of the caller's aborted signal. */
  const send = async (prepared: Prepared): Promise<ParsedResponse> => {
    for (let attemptsBefore = 0; ; attemptsBefore++) {
      const outcome = await attempt(prepared).catch(asSvcError)
      if (!(outcome instanceof SvcError) && outcome.status < 400) return outcome

      const error = outcome instanceof SvcError ? outcome : errorFrom(outcome)
      if (error.status === 429) {
        const { code, retryAfter } = error
        settings.onRateLimit?.({ ...rateLimit, code, retryAfter, path: prepared.route.path })
      }
      const delayMs =
        attemptsBefore < settings.retries
          ? retryDelayMs(error, attemptsBefore, prepared.repeatable)
          : undefined
      if (delayMs === undefined) throw error
      await pause(delayMs, prepared.signal)
    }
  }

  const pause = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted()
    await settings.sleep(ms, signal)
    signal?.throwIfAborted()
  }

  return { attempt, send, pause, rateLimit: () => rateLimit }
}

export type Transport = ReturnType<typeof createTransport>

/** Not AbortSignal.timeout, which would also cut a streamed reply that has started in time. */
export const startTimer = (timeoutMs: number) => {
  const controller = new AbortController()
  const message = `no reply within ${timeoutMs} ms`
  const timer = setTimeout(
    () => controller.abort(new SvcError({ status: 0, code: "timeout", message })),
    timeoutMs,
  )
  return { signal: controller.signal, stop: () => clearTimeout(timer) }
}

export const networkError = (url: string, cause: unknown): SvcError => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  // An attempt at several addresses fails with a list of errors whose own message is empty.
  const reason = inner instanceof Error ? inner.message || Reflect.get(inner, "code") : inner
  return new SvcError({
    status: 0,
    code: "network_error",
    message: `cannot reach ${new URL(url).origin}: ${reason}`,
    cause,
  })
}

const asSvcError = (error: unknown): SvcError => {
  if (error instanceof SvcError) return error
  throw error
}

const readRateLimit = (headers: Headers): RateLimit | undefined => {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map(name =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  ) as [number, number, number]
  return Number.isNaN(limit + remaining + reset) ? undefined : { limit, remaining, reset }
}
