/** A chat stream from an upstream to the caller: nothing before the first words, and never a silent end. */
import { Readable } from "node:stream"
import { Cancelled, failureInside, UpstreamFailure } from "./failure.ts"
import { estimateTokens, type TokenUsage } from "./prices.ts"
import { createSplitter, DONE, type EventFacts, eventOf, factsOf, KEEP_ALIVE, parseData } from "./sse.ts"
import type { Flight, UpstreamAnswer } from "./upstream-client.ts"
import { readUsage, toUsage } from "./usage.ts"

/** What a stream came to, told once. */
export interface StreamEnd {
  readonly outcome: "complete" | "failed" | "cancelled"
  readonly failure?: UpstreamFailure
  /** What the upstream told, else what was delivered. */
  readonly usage: TokenUsage
}

export interface ChatStreamOptions {
  readonly answer: UpstreamAnswer
  readonly flight: Flight
  readonly now: () => number
  readonly requestId: string
  readonly wantsUsage: boolean
  readonly inputTokens: number
}

export interface ChatStream {
  /** The reply, from the first words on. */
  readonly body: Readable
  /** Called once, when everything is known; at once where it is already. */
  onEnd(listener: (end: StreamEnd) => void): void
  /** Says that it lives, where nothing came since this was last called. */
  keepAlive(): void
}

const errorChunk = (failure: UpstreamFailure, requestId: string): string => {
  const code = failure.kind === "timeout" ? "upstream_timeout" : "upstream_error"
  return eventOf({
    error: { message: failure.message, type: "upstream_error", code, param: null },
    code,
    request_id: requestId,
    choices: [{ index: 0, delta: {}, finish_reason: "error" }],
  })
}

class Reading {
  readonly #options: ChatStreamOptions
  readonly #splitter = createSplitter()
  #usage: TokenUsage | undefined
  /** With the details that only some callers read. */
  #usageAsSent: unknown
  #characters = 0
  #deltas = 0
  #isFinished = false
  #isDone = false
  #failure: UpstreamFailure | Cancelled | undefined
  /** Identity of the chunks, for one that is made here. */
  #head: Record<string, unknown> = {}

  constructor(options: ChatStreamOptions) {
    this.#options = options
  }

  get isDone() {
    return this.#isDone
  }
  get hasDelta() {
    return this.#deltas > 0
  }

  usage(): TokenUsage {
    const outputTokens = Math.max(estimateTokens(this.#characters), this.#deltas)
    return this.#usage ?? { inputTokens: this.#options.inputTokens, outputTokens, isEstimated: true }
  }

  /** Why it cannot go on: an event told an error. */
  get failure() {
    return this.#failure
  }

  /** What the caller gets of a chunk of bytes; where an event tells a failure, what came before it. */
  read(chunk: Buffer): string {
    let text = ""
    try {
      for (const event of this.#splitter.push(chunk)) {
        if (this.#isDone) break
        text += this.#take(event)
      }
    } catch (error) {
      this.#failure = asFailure(error)
    }
    return text
  }

  #take(event: string): string {
    const facts = factsOf(event)
    if (!facts.isData) return ""
    if (facts.isDone) return this.#finish()
    if (facts.mayBeError) this.#checkError(event)
    if (facts.hasDelta && this.#deltas === 0) this.#readHead(event)
    this.#count(facts)
    return facts.mayHaveUsage ? this.#takeUsage(event) : `${event}\n\n`
  }

  #checkError(event: string) {
    const data = parseData(event)
    if (data?.error) throw failureInside(data, this.#options.now())
  }

  #readHead(event: string) {
    const { id, created, model } = parseData(event) ?? {}
    this.#head = { id, object: "chat.completion.chunk", created, model }
  }

  #count({ characters, hasDelta, isFinish }: EventFacts) {
    this.#characters += characters
    if (hasDelta) this.#deltas++
    this.#isFinished ||= isFinish
  }

  /** Usage belongs into a chunk of its own at the end; some servers send it elsewhere, or several times. */
  #takeUsage(event: string): string {
    const data = parseData(event)
    if (!data) return `${event}\n\n`
    const { usage, ...chunk } = data
    const known = readUsage(usage)
    if (known) {
      this.#usage = known
      this.#usageAsSent = usage
    }
    const isAlone = Array.isArray(chunk.choices) && chunk.choices.length === 0
    if (this.#options.wantsUsage) return isAlone ? "" : eventOf({ ...chunk, usage: null })
    return isAlone ? "" : eventOf(chunk)
  }

  #finish(): string {
    this.#isDone = true
    if (!this.#options.wantsUsage) return DONE
    return eventOf({ ...this.#head, choices: [], usage: this.#usageAsSent ?? toUsage(this.usage()) }) + DONE
  }

  /** The upstream's connection ended. Throws where that was too early. */
  end(): string {
    if (this.#isDone) return ""
    if (this.#isFinished) return this.#finish()
    throw new UpstreamFailure("transient", "the stream broke off before its end")
  }
}

const isStream = ({ headers }: UpstreamAnswer): boolean =>
  headers["content-type"]?.toLowerCase().startsWith("text/event-stream") === true

/** Reads until there are first words. Throws UpstreamFailure or Cancelled before. */
const waitForWords = (reading: Reading, { answer: { body }, flight }: ChatStreamOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    let head = ""
    const settle = (act: () => void) => {
      body.off("data", onData).off("end", onEnd).off("error", onError)
      act()
    }
    const fail = (error: unknown) =>
      settle(() => {
        body.on("error", () => undefined).destroy()
        reject(flight.reason() ?? asFailure(error))
      })
    const onData = (chunk: Buffer) => {
      head += reading.read(chunk)
      if (reading.failure && !reading.hasDelta) return fail(reading.failure)
      if (!reading.hasDelta && !reading.isDone) return
      if (!reading.hasDelta) return fail(new UpstreamFailure("transient", "the stream was empty"))
      settle(() => {
        body.pause()
        resolve(head)
      })
    }
    const onEnd = () => fail(new UpstreamFailure("transient", "the stream ended before its first words"))
    const onError = (error: Error) => fail(error)
    body.on("data", onData).on("end", onEnd).on("error", onError)
  })

const asFailure = (error: unknown): UpstreamFailure | Cancelled => {
  if (error instanceof UpstreamFailure || error instanceof Cancelled) return error
  const { code = "", message } = error as NodeJS.ErrnoException
  return new UpstreamFailure("transient", `the stream broke off: ${code || message}`, { cause: error })
}

/** Checks that the answer is a stream, and waits for its first words. */
export const openChatStream = async (options: ChatStreamOptions): Promise<ChatStream> => {
  const { answer, flight, requestId } = options
  if (!isStream(answer)) {
    answer.body.on("error", () => undefined).destroy()
    const type = answer.headers["content-type"] ?? "nothing"
    throw new UpstreamFailure("transient", `it answered ${type} in the place of a stream`)
  }
  const reading = new Reading(options)
  const head = await waitForWords(reading, options)
  flight.started()
  return forward(reading, head, options.answer.body, flight, requestId)
}

const forward = (
  reading: Reading,
  head: string,
  source: Readable,
  flight: Flight,
  requestId: string,
): ChatStream => {
  let ended: StreamEnd | undefined
  let listener: ((end: StreamEnd) => void) | undefined
  let isQuiet = false

  const conclude = (end: Omit<StreamEnd, "usage">) => {
    if (ended) return
    ended = { ...end, usage: reading.usage() }
    flight.end()
    source.on("error", () => undefined).destroy()
    listener?.(ended)
  }

  const body = new Readable({
    read: () => void source.resume(),
    destroy(error, done) {
      // It is destroyed before its end only when the caller hung up.
      conclude({ outcome: "cancelled" })
      done(error)
    },
  })

  const finish = () => {
    conclude({ outcome: "complete" })
    body.push(null)
  }
  const fail = (error: unknown) => {
    const failure = flight.reason() ?? asFailure(error)
    if (failure instanceof Cancelled) return void body.destroy()
    if (ended) return
    conclude({ outcome: "failed", failure })
    body.push(errorChunk(failure, requestId))
    body.push(null)
  }
  const deliver = (text: string) => {
    isQuiet = false
    if (text !== "" && !body.push(text)) source.pause()
  }

  source
    .on("data", (chunk: Buffer) => {
      if (ended) return
      flight.touch()
      deliver(reading.read(chunk))
      if (reading.failure) fail(reading.failure)
      else if (reading.isDone) finish()
    })
    .on("end", () => {
      if (ended) return
      try {
        deliver(reading.end())
        finish()
      } catch (error) {
        fail(error)
      }
    })
    .on("error", fail)
  deliver(head)
  if (reading.failure) fail(reading.failure)
  else if (reading.isDone) finish()

  return {
    body,
    onEnd(given) {
      if (ended) given(ended)
      else listener = given
    },
    keepAlive() {
      if (isQuiet && !ended) body.push(KEEP_ALIVE)
      isQuiet = true
    },
  }
}
