import { FUNCTION_STREAM_BYTES_MAX } from "@svc/contract"
import type { Frame, FunctionError } from "./frames.ts"
import { createReplyBody, type ReplyBody } from "./reply-body.ts"
import type { Work, WorkResult } from "./work.ts"

interface Flight {
  readonly startedMs: number
  readonly work: Work
  readonly timer: NodeJS.Timeout
  readonly resolve: (answer: WorkResult) => void
  /** Of a reply that comes in pieces. */
  streamed: { readonly reply: unknown; readonly body: ReplyBody; bytes: number } | undefined
}

/** The invocations that run in one instance. */
export interface Flights {
  readonly count: number
  readonly isClosed: boolean
  readonly idleSinceMs: number
  has(invocationId: string): boolean
  /** The one that runs; null when there are none or several. */
  sole(): string | null
  take(work: Work): Promise<WorkResult>
  /** False for what no harness says. */
  head(frame: Extract<Frame, { kind: "head" }>): boolean
  chunk(frame: Extract<Frame, { kind: "chunk" }>): boolean
  done(frame: Extract<Frame, { kind: "done" }>): void
  /** The instance is gone, and with it all that ran; `tell` is called with each. */
  crash(error: FunctionError, tell: (invocationId: string) => void): void
  /** No more are taken, and `empty` is called once none is left. */
  close(): void
}

export interface FlightOptions {
  readonly nowMs: () => number
  /** An invocation ran out of time: tells it, and gives the error. */
  readonly late: (invocationId: string, timeoutMs: number) => Promise<FunctionError>
  readonly empty: () => void
  /** There is room for so many bytes more of its reply. */
  readonly more: (invocationId: string, bytes: number) => void
  /** Nobody waits for its reply any more. */
  readonly cancel: (invocationId: string) => void
}

const failed = (status: "error" | "timeout", error: FunctionError, durationMs: number): WorkResult => ({
  ...{ status, error, durationMs, result: null, reply: undefined, maxMemoryMb: null, responseBytes: 0 },
})

const endBody = ({ streamed }: Flight, error: FunctionError | null) => {
  if (error) streamed?.body.fail(new Error(`the function failed: ${error.type}`))
  else streamed?.body.end()
}

export const createFlights = ({ nowMs, late, empty, more, cancel }: FlightOptions): Flights => {
  const flights = new Map<string, Flight>()
  let idleSinceMs = nowMs()
  let isClosed = false

  const land = (id: string, answer: (durationMs: number) => WorkResult) => {
    const flight = flights.get(id)
    if (!flight) return
    clearTimeout(flight.timer)
    flights.delete(id)
    idleSinceMs = nowMs()
    const landed = answer(performance.now() - flight.startedMs)
    const { streamed } = flight
    endBody(flight, landed.error)
    flight.resolve(streamed ? { ...landed, reply: streamed.reply, responseBytes: streamed.bytes } : landed)
    if (isClosed && flights.size === 0) empty()
  }

  const runOut = async (id: string, timeoutMs: number) => {
    // Others that run in it may still end; when there are none, this ends it.
    isClosed = true
    const error = await late(id, timeoutMs)
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
    take(work) {
      const { invocationId: id, timeoutMs, signal } = work
      const leave = () => cancel(id)
      const answer = new Promise<WorkResult>(resolve => {
        const timer = setTimeout(() => void runOut(id, timeoutMs), timeoutMs)
        flights.set(id, { startedMs: performance.now(), work, timer, resolve, streamed: undefined })
      })
      if (!signal) return answer
      // Whoever has left already is told of by no event.
      if (signal.aborted) leave()
      signal.addEventListener("abort", leave, { once: true })
      return answer.finally(() => signal.removeEventListener("abort", leave))
    },
    head({ invocationId: id, reply }) {
      const flight = flights.get(id)
      // It may have run out of time meanwhile.
      if (!flight) return true
      if (flight.streamed || !flight.work.stream) return false
      const body = createReplyBody(
        bytes => more(id, bytes),
        () => cancel(id),
      )
      flight.streamed = { reply, body, bytes: 0 }
      flight.work.stream(reply, body.stream)
      return true
    },
    chunk({ invocationId: id, bytes }) {
      const flight = flights.get(id)
      if (!flight) return true
      const { streamed } = flight
      if (!streamed) return false
      streamed.bytes += bytes.length
      return streamed.bytes <= FUNCTION_STREAM_BYTES_MAX && streamed.body.push(bytes)
    },
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
