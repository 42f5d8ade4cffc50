/** Server-sent events of a chat stream: split, looked at as text, parsed only where something may be of interest. */
import { StringDecoder } from "node:string_decoder"

const END = /\r?\n\r?\n/g
/** Characters that one event may have. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024

/** Gives the events that a chunk of bytes completes, without the empty line that ends them. */
export const createSplitter = () => {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  return {
    push(chunk: Buffer): string[] {
      const text = rest + decoder.write(chunk)
      const events: string[] = []
      let from = 0
      END.lastIndex = 0
      for (let end = END.exec(text); end; end = END.exec(text)) {
        if (end.index > from) events.push(text.slice(from, end.index))
        from = END.lastIndex
      }
      rest = text.slice(from)
      if (rest.length > EVENT_LENGTH_MAX) throw new RangeError("an event of the stream is too long")
      return events
    },
    /** What came after the last complete event. */
    rest: () => rest.trim(),
  }
}

/** Values of fields that a reader sees. An escaped quote inside a text never looks like the end of a field's name. */
const TEXT =
  /"(?:content|reasoning_content|reasoning|refusal|arguments|transcript|data)"\s*:\s*"((?:[^"\\]|\\.)+)"/g
const CALLS = /"(?:tool_calls|function_call)"\s*:\s*[[{]/
const FINISH = /"finish_reason"\s*:\s*"/
const USAGE = /"usage"\s*:\s*\{/
const ERROR = /"error"\s*:/

export interface EventFacts {
  /** Comments and fields that are no data. */
  readonly isData: boolean
  readonly isDone: boolean
  /** Characters of content. */
  readonly characters: number
  readonly hasDelta: boolean
  readonly isFinish: boolean
  readonly mayHaveUsage: boolean
  readonly mayBeError: boolean
}

const NOTHING: EventFacts = {
  isData: false,
  isDone: false,
  characters: 0,
  hasDelta: false,
  isFinish: false,
  mayHaveUsage: false,
  mayBeError: false,
}

export const dataOf = (event: string): string => {
  if (event.startsWith("data:") && !event.includes("\n")) return event.slice(5).trim()
  return event
    .split(/\r?\n/)
    .filter(line => line.startsWith("data:"))
    .map(line => line.slice(5).trim())
    .join("\n")
}

export const factsOf = (event: string): EventFacts => {
  const data = dataOf(event)
  if (data === "") return NOTHING
  if (data === "[DONE]") return { ...NOTHING, isData: true, isDone: true }
  let characters = 0
  for (const [, text = ""] of data.matchAll(TEXT)) characters += text.length
  const isFinish = FINISH.test(data)
  return {
    isData: true,
    isDone: false,
    characters,
    hasDelta: characters > 0 || isFinish || CALLS.test(data),
    isFinish,
    mayHaveUsage: USAGE.test(data),
    mayBeError: ERROR.test(data),
  }
}

/** Undefined for what is no JSON object. */
export const parseData = (event: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(dataOf(event))
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export const eventOf = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const DONE = "data: [DONE]\n\n"
export const KEEP_ALIVE = ": keep-alive\n\n"
