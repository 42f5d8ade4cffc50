import { PortError } from "../port-error.ts"

export interface SourceOptions {
  readonly bytesMax: number
  readonly signal?: AbortSignal
}

const abandoned = (signal: AbortSignal): PortError =>
  new PortError("unavailable", "the caller stopped waiting", signal.reason)

/** Answers the next chunk, or rejects as soon as the signal aborts: a source may hang for as long as it likes. */
const abortable = (chunks: AsyncIterator<Uint8Array>, signal: AbortSignal | undefined) => {
  if (!signal) return { next: () => chunks.next(), [Symbol.dispose]: () => undefined }
  let reject: (reason: unknown) => void = () => undefined
  const onAbort = () => reject(abandoned(signal))
  signal.addEventListener("abort", onAbort, { once: true })
  return {
    next: () =>
      new Promise<IteratorResult<Uint8Array>>((resolve, rejectNext) => {
        reject = rejectNext
        if (signal.aborted) onAbort()
        else chunks.next().then(resolve, rejectNext)
      }),
    [Symbol.dispose]: () => signal.removeEventListener("abort", onAbort),
  }
}

/**
 * Hands the chunks of a source to `take`, one at a time, and tells how many bytes they were. A source that is not at its
 * end when this stops is closed, without waiting for it.
 */
export const drain = async (
  source: AsyncIterable<Uint8Array>,
  { bytesMax, signal }: SourceOptions,
  take: (chunk: Uint8Array) => Promise<void> | undefined,
): Promise<number> => {
  const chunks = source[Symbol.asyncIterator]()
  using abortableChunks = abortable(chunks, signal)
  let bytes = 0
  let isAtEnd = false
  try {
    for (;;) {
      const { done, value } = await abortableChunks.next()
      if (done) {
        isAtEnd = true
        return bytes
      }
      bytes += value.length
      if (bytes > bytesMax) throw new PortError("refused", `it is longer than ${bytesMax} bytes`)
      await take(value)
    }
  } finally {
    if (!isAtEnd) void Promise.resolve(chunks.return?.()).catch(() => undefined)
  }
}
