import { randomBytes } from "node:crypto"
import {
  FUNCTION_LOG_BYTES_MAX,
  FUNCTION_LOG_LINES_MAX,
  FUNCTION_STREAM_BYTES_MAX,
  type FunctionLogStream,
} from "@svc/contract"
import { crash } from "../../services/serving/workload.ts"
import { createFlights, type Flights } from "./flights.ts"
import { FRAME_BYTES_MAX, type Frame, type FunctionError, storable } from "./frames.ts"
import { type Harness, START_MS_MAX } from "./harness.ts"
import { createRawPrinter, type PrintedLine } from "./printing.ts"
import { WINDOW_BYTES } from "./reply-body.ts"
import type { Work, WorkResult } from "./work.ts"

export interface InstanceOptions {
  readonly handler: string
  readonly env: Readonly<Record<string, string>>
  readonly concurrency: number
  readonly vcpus: number
  readonly print: (line: PrintedLine) => void
  readonly nowMs: () => number
}

/** A function that is loaded and waits for work. */
export interface Instance {
  readonly initMs: number
  /** Invocations it took so far. */
  readonly served: number
  readonly inFlight: number
  /** By the clock; counts from its last work, or from its start. */
  readonly idleSinceMs: number
  /** Whether it takes one more now. */
  readonly isFree: boolean
  readonly isResting: boolean
  /** Uses no processor until its next work, where the host can do that. */
  rest(): void
  invoke(work: Work): Promise<WorkResult>
  /** Takes no more, and ends once nothing is in flight. */
  retire(): void
  /** Ends at once, to make room on the host. */
  giveUp(): void
  readonly ended: Promise<unknown>
}

/** The code of a function could not be loaded. */
export class LoadError extends Error {
  override readonly name = "LoadError"
  readonly error: FunctionError
  readonly initMs: number
  constructor(error: FunctionError, initMs: number) {
    super(error.message)
    this.error = error
    this.initMs = initMs
  }
}

/** Lines that a harness may send for one invocation; it keeps to its limits, code that speaks in its name need not. */
const LINES_MAX = FUNCTION_LOG_LINES_MAX + 2

const LIMITS = {
  logBytes: FUNCTION_LOG_BYTES_MAX,
  logLines: FUNCTION_LOG_LINES_MAX,
  responseBytes: FRAME_BYTES_MAX,
  streamBytes: FUNCTION_STREAM_BYTES_MAX,
  windowBytes: WINDOW_BYTES,
}
/** A processor's use is told to so many digits. */
const inSeconds = (ms: number): string => `${Number((ms / 1000).toFixed(2))} s`

/** Hears the harness: what is printed goes to the log, and `loaded` once the code is there or not. */
const hear = (
  harness: Harness,
  flights: Flights,
  { print, nowMs }: InstanceOptions,
  loaded: (problem: FunctionError | null) => void,
) => {
  let linesLeft = LINES_MAX
  let cpuMs: number | null = null
  const breach = () => harness.end(crash("the function broke the channel to the platform"))
  const tell = (invocationId: string | null, stream: FunctionLogStream, message: string) =>
    print({ invocationId, stream, atMs: nowMs(), message: storable(message) })
  const printer = (stream: FunctionLogStream) =>
    createRawPrinter(
      message => tell(flights.sole(), stream, message),
      () => harness.slow(),
    )
  const raw = { stdout: printer("stdout"), stderr: printer("stderr") }
  const log = (frame: Extract<Frame, { kind: "log" }>) => {
    linesLeft -= 1
    if (linesLeft < 0) return breach()
    const { stream, message, invocationId: named } = frame
    const invocationId = named !== null && flights.has(named) ? named : null
    print({ invocationId, stream, atMs: frame.atMs || nowMs(), message })
  }
  harness.listen({
    text: (chunk, stream) => raw[stream].take(chunk),
    frame(frame) {
      if (frame.kind === "log") log(frame)
      else if (frame.kind === "done") flights.done(frame)
      else if (frame.kind === "chunk") flights.chunk(frame) || breach()
      else if (frame.kind === "head") flights.head(frame) || breach()
      else if (frame.kind === "ready") loaded(null)
      else if (frame.kind === "failed") loaded(frame.error)
      if (frame.kind === "done" || frame.kind === "ready") cpuMs = frame.cpuMs
    },
  })
  const ended = harness.ended.then(error => {
    for (const one of Object.values(raw)) one.flush()
    loaded(error)
    flights.crash(error, id => tell(id, "platform", `${error.type}: ${error.message}`))
  })
  return {
    tell,
    ended,
    /** What the process had used of a processor when it last said so. */
    cpuMs: () => cpuMs,
    /** One more invocation may print now. */
    renew() {
      linesLeft = LINES_MAX * (flights.count + 2)
      for (const one of Object.values(raw)) one.reset()
    },
  }
}

/** Gives the harness its function, and resolves once that is loaded. Throws a LoadError. */
export const loadInstance = async (harness: Harness, options: InstanceOptions): Promise<Instance> => {
  const { nowMs, concurrency, handler, env, vcpus } = options
  const startedMs = performance.now()
  const nonce = randomBytes(16).toString("base64url")
  const loaded = Promise.withResolvers<void>()
  let served = 0
  const flights = createFlights({
    nowMs,
    async late(id, timeoutMs) {
      const allMs = await harness.cpuMs()
      const beforeMs = heard.cpuMs()
      const usedMs = allMs === undefined || beforeMs === null ? null : Math.max(0, allMs - beforeMs)
      const used = usedMs === null ? "" : `, in which it used ${inSeconds(usedMs)} of ${vcpus} vCPUs`
      const message = `the function took longer than ${timeoutMs / 1000} s${used}`
      if (flights.has(id)) heard.tell(id, "platform", `Timeout: ${message}`)
      return { type: "Timeout", message, stack: null }
    },
    empty: () => harness.end(crash("the instance was retired")),
    more: (i, bytes) => harness.send({ t: "more", i, bytes }),
    cancel: i => harness.send({ t: "cancel", i }),
  })
  const heard = hear(harness, flights, options, problem => {
    if (problem) loaded.reject(new LoadError(problem, performance.now() - startedMs))
    else loaded.resolve()
  })

  harness.expect(nonce)
  harness.send({ t: "start", n: nonce, handler, env, concurrency, limits: LIMITS })
  const slow = setTimeout(
    () => harness.end({ type: "InitError", message: "the code was not loaded in time", stack: null }),
    START_MS_MAX,
  )
  try {
    await loaded.promise
  } catch (error) {
    harness.end(crash("its code could not be loaded"))
    throw error
  } finally {
    clearTimeout(slow)
  }

  return {
    initMs: performance.now() - startedMs,
    ended: heard.ended,
    get served() {
      return served
    },
    get inFlight() {
      return flights.count
    },
    get idleSinceMs() {
      return flights.idleSinceMs
    },
    get isFree() {
      return !flights.isClosed && flights.count < concurrency
    },
    get isResting() {
      return harness.isResting
    },
    rest: harness.rest,
    invoke(work) {
      const { invocationId, frame, timeoutMs } = work
      served += 1
      heard.renew()
      const answer = flights.take(work)
      harness.send({ ...frame, i: invocationId, deadline: Date.now() + timeoutMs })
      return answer
    },
    retire: () => flights.close(),
    giveUp() {
      flights.close()
      harness.giveUp()
    },
  }
}
