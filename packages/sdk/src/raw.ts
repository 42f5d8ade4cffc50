import { asItIsRead, mergeHeaders } from "./prepare.ts"
import type { Settings } from "./settings.ts"
import type { RawRequest, Svc } from "./surface.ts"
import { networkError, startTimer } from "./transport.ts"

/** Any path of the installation, with the client's credential. One attempt; every status is a result. */
export const createRaw =
  (settings: Settings): Svc["raw"] =>
  async ({ method, path, headers, body, signal, timeoutMs }: RawRequest) => {
    if (!path.startsWith("/")) throw new TypeError(`a path starts with "/": ${path}`)
    const url = `${settings.baseUrl}${path}`
    const timer = startTimer(timeoutMs ?? settings.timeoutMs)
    try {
      return await settings.fetch(url, {
        method,
        headers: mergeHeaders(settings.headers, headers ?? {}),
        ...(body === undefined ? {} : { body }),
        ...(body instanceof ReadableStream ? { ...asItIsRead, duplex: "half" } : {}),
        ...(settings.credentials ? { credentials: settings.credentials } : {}),
        signal: signal ? AbortSignal.any([signal, timer.signal]) : timer.signal,
      } as RequestInit)
    } catch (cause) {
      signal?.throwIfAborted()
      timer.signal.throwIfAborted()
      throw networkError(url, cause)
    } finally {
      timer.stop()
    }
  }
