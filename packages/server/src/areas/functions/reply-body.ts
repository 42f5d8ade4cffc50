import { Readable } from "node:stream"

/** What a harness may send of one reply before its caller has taken it. */
export const WINDOW_BYTES = 262_144

/** The body of a reply that comes while it is made, held in memory up to the window. */
export interface ReplyBody {
  readonly stream: Readable
  /** False for more than the harness was given room for. */
  push(bytes: Buffer): boolean
  end(): void
  /** Breaks it off. */
  fail(error: Error): void
}

/** `more` gives the harness room for so many bytes; `left` is called when the reader goes before the end. */
export const createReplyBody = (more: (bytes: number) => void, left: () => void): ReplyBody => {
  const queue: Buffer[] = []
  let queuedBytes = 0
  let takenBytes = 0
  let isWanted = false
  let isOver = false

  const give = () => {
    while (isWanted) {
      const chunk = queue.shift()
      if (!chunk) {
        if (isOver) stream.push(null)
        return
      }
      queuedBytes -= chunk.length
      takenBytes += chunk.length
      isWanted = stream.push(chunk)
      if (takenBytes < WINDOW_BYTES / 4 || isOver) continue
      more(takenBytes)
      takenBytes = 0
    }
  }
  const stream = new Readable({
    read() {
      isWanted = true
      give()
    },
    destroy(error, done) {
      queue.length = 0
      if (!isOver) left()
      done(error)
    },
  })
  // Who reads it hears of it too; the platform goes on where nobody does.
  stream.on("error", () => undefined)

  return {
    stream,
    push(bytes) {
      if (stream.destroyed) return true
      queuedBytes += bytes.length
      if (queuedBytes + takenBytes > WINDOW_BYTES) return false
      queue.push(bytes)
      give()
      return true
    },
    end() {
      isOver = true
      give()
    },
    fail(error) {
      isOver = true
      stream.destroy(error)
    },
  }
}
