import { SvcError } from "./errors.ts"
import { prepare } from "./prepare.ts"
import { errorFrom } from "./reply.ts"
import { retryDelayMs } from "./retry.ts"
import type { Route } from "./route.ts"
import type { Settings } from "./settings.ts"
import type { CallOptions } from "./surface.ts"
import { createTerminal, type Terminal, WINDOW_BYTES } from "./terminal.ts"
import { networkError, startTimer, type Transport } from "./transport.ts"

const PROTOCOL = "svc.terminal.v1"

/** What is a header elsewhere is a subprotocol here: browsers send no headers of ours with a WebSocket. */
const protocolsOf = (headers: Headers): string[] => {
  const key = /^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1]
  const project = headers.get("x-svc-project")
  const organization = headers.get("x-svc-organization")
  return [
    PROTOCOL,
    ...(key ? [`svc.bearer.${key}`] : []),
    ...(project ? [`svc.project.${project}`] : []),
    ...(organization ? [`svc.organization.${organization}`] : []),
  ]
}

/** Whether it opens; why it does not no client is told. */
const opened = async (socket: WebSocket, signal: AbortSignal): Promise<boolean> => {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const abandon = () => {
    socket.close()
    reject(signal.reason)
  }
  socket.addEventListener("open", () => resolve(true))
  socket.addEventListener("error", () => resolve(false))
  socket.addEventListener("close", () => resolve(false))
  signal.addEventListener("abort", abandon)
  if (signal.aborted) abandon()
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", abandon)
  }
}

/** Opens terminals. What stood against one is found out by the same request without the handshake. */
export const createConnect =
  (settings: Settings, transport: Transport) =>
  async (route: Route, input: Readonly<Record<string, unknown>>, options: CallOptions): Promise<Terminal> => {
    const { WebSocket } = settings
    if (!WebSocket) throw new TypeError("there is no WebSocket here; give createSvc one")
    const { tty = true, window = WINDOW_BYTES } = input as { tty?: boolean; window?: number }
    const prepared = prepare(settings, route, { ...input, window }, options)
    const { signal } = options

    const attempt = async (): Promise<Terminal | SvcError> => {
      const timer = startTimer(prepared.timeoutMs)
      const signals = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal
      const socket = new WebSocket(
        prepared.url.replace(/^http/, "ws"),
        protocolsOf(prepared.init.headers as Headers),
      )
      const terminal = createTerminal(socket, { tty, window })
      try {
        if (await opened(socket, signals)) return terminal
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof SvcError) return error
        throw error
      } finally {
        timer.stop()
      }
      const answer = await transport.attempt(prepared).catch((error: unknown) => {
        if (error instanceof SvcError) return error
        throw error
      })
      const error = answer instanceof SvcError ? answer : errorFrom(answer)
      if (error.code !== "upgrade_required") return error
      return networkError(prepared.url, "something in between lets no WebSocket through")
    }

    for (let attemptsBefore = 0; ; attemptsBefore++) {
      const outcome = await attempt()
      if (!(outcome instanceof SvcError)) {
        signal?.addEventListener("abort", outcome.close, { once: true })
        return outcome
      }
      const delayMs =
        attemptsBefore < settings.retries ? retryDelayMs(outcome, attemptsBefore, true) : undefined
      if (delayMs === undefined) throw outcome
      await transport.pause(delayMs, signal)
    }
  }
