import { FUNCTION_LOG_BYTES_MAX, FUNCTION_LOG_LINES_MAX, type FunctionLogStream } from "@svc/contract"

export interface PrintedLine {
  /** Null: while nothing was invoked, or it is not known by which of several. */
  readonly invocationId: string | null
  readonly stream: FunctionLogStream
  readonly atMs: number
  readonly message: string
}

const LINE_LENGTH_MAX = 8_192

/**
 * Prints what comes past the harness, in lines and within the bounds of a log. Beyond these it calls `slow` for each
 * chunk, and prints nothing until `reset`.
 */
export const createRawPrinter = (print: (message: string) => void, slow: () => void) => {
  let rest = ""
  let bytes = 0
  let lines = 0
  return {
    take(chunk: Buffer) {
      bytes += chunk.length
      if (bytes > FUNCTION_LOG_BYTES_MAX || lines >= FUNCTION_LOG_LINES_MAX) return slow()
      const parts = (rest + chunk.toString()).split("\n")
      rest = (parts.pop() ?? "").slice(0, LINE_LENGTH_MAX)
      const left = FUNCTION_LOG_LINES_MAX - lines
      lines += parts.length
      for (const part of parts.slice(0, left)) print(part.slice(0, LINE_LENGTH_MAX))
    },
    reset() {
      bytes = 0
      lines = 0
    },
    flush() {
      if (rest !== "") print(rest)
      rest = ""
    },
  }
}
