import type { Frame, FunctionError } from "./frames.ts"
import type { Answer } from "./work.ts"

interface Flight {
  readonly startedMs: number
  readonly timer: NodeJS.Timeout
  readonly resolve: (answer: Answer) => void
}

/** The invocations that run in one instance. */
export interface Flights {
  readonly count: number
  readonly isClosed: boolean
  readonly idleSinceMs: number
  has(invocationId: string): boolean
  /** The one that runs; null when there are none or several. */
  sole(): string | null
  take(invocationId: string, timeoutMs: number): Promise<Answer>
  done(frame: Extract<Frame, { kind: "done" }>): void
  /** The instance is gone, and with it all that ran; `tell` is called with each. */
  crash(error: FunctionError, tell: (invocationId: string) => void): void
  /** No more are taken, and `empty` is called once none is left. */
  close(): void
}

const failed = (status: "error" | "timeout", error: FunctionError, durationMs: number): Answer => ({
  ...{ status, error, durationMs, result: null, reply: undefined, maxMemoryMb: null, responseBytes: 0 },
})

export const createFlights = (options: {
  readonly nowMs: () => number
  /** An invocation ran out of time. */
  readonly late: (invocationId: string, error: FunctionError) => void
  readonly empty: () => void
}): Flights => {
  const { nowMs, late, empty } = options
  const flights = new Map<string, Flight>()
  let idleSinceMs = nowMs()
  let isClosed = false

  const land = (id: string, answer: (durationMs: number) => Answer) => {
    const flight = flights.get(id)
    if (!flight) return
    clearTimeout(flight.timer)
    flights.delete(id)
    idleSinceMs = nowMs()
    flight.resolve(answer(performance.now() - flight.startedMs))
    if (isClosed && flights.size === 0) empty()
  }

  const runOut = (id: string, timeoutMs: number) => {
    const message = `the function took longer than ${timeoutMs / 1000} s`
    const error = { type: "Timeout", message, stack: null }
    late(id, error)
    // Others that run in it may still end; when there are none, this ends it.
    isClosed = true
    land(id, durationMs => failed("timeout", error, durationMs))
  }

  return {
    get count() {
      return flights.size
    },
    get isClosed() {
      return isClosed
    },
    get idleSinceMs() {
      return idleSinceMs
    },
    has: id => flights.has(id),
    sole: () => (flights.size === 1 ? ([...flights.keys()][0] ?? null) : null),
    take: (id, timeoutMs) =>
      new Promise(resolve => {
        const timer = setTimeout(() => runOut(id, timeoutMs), timeoutMs)
        flights.set(id, { startedMs: performance.now(), timer, resolve })
      }),
    done({ invocationId, error, result, reply, peakMb, bytes, isFinal }) {
      if (isFinal) isClosed = true
      land(invocationId, durationMs => ({
        ...{ status: error ? "error" : "success", result: error ? null : result, reply, error, durationMs },
        ...{ maxMemoryMb: peakMb || null, responseBytes: bytes },
      }))
    },
    crash(error, tell) {
      isClosed = true
      for (const id of [...flights.keys()]) {
        tell(id)
        land(id, durationMs => failed("error", error, durationMs))
      }
    },
    close() {
      if (!isClosed && flights.size === 0) empty()
      isClosed = true
    },
  }
}
