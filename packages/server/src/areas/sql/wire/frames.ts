/**
 * Follows a stream of typed messages (a byte of type, four of length, the payload) without holding it up: bytes are
 * looked at where they lie, and copied only when a message that somebody wants is split over two chunks.
 */

/** Called once a wanted message has passed whole. The bytes are valid during the call only. */
export type FrameSink = (type: number, bytes: Buffer, start: number, end: number) => void

export interface FrameScanner {
  push(chunk: Buffer): void
  /** Whether what passed ends with a whole message, so that another one may be put behind it. */
  readonly atBoundary: boolean
  /** Whether the stream stopped making sense: nothing of it is reported any more. */
  readonly lost: boolean
}

const HEAD_BYTES = 5
/** The length counts itself. */
const LENGTH_BYTES = 4
/** PostgreSQL allocates at most 1 GB (MaxAllocSize) for a message. */
const LENGTH_MAX = 0x3fffffff

/**
 * `wanted` maps the type's character to how many bytes of the payload its sink gets at most; messages of other types
 * are passed over.
 */
export const createFrameScanner = (
  wanted: Readonly<Record<string, number>>,
  sink: FrameSink,
): FrameScanner => {
  const limits = new Int32Array(256).fill(-1)
  for (const [type, bytesMax] of Object.entries(wanted)) limits[type.charCodeAt(0)] = bytesMax

  const head = Buffer.alloc(HEAD_BYTES)
  let headHeld = 0
  /** Of the message that is split: its type, how much is to come, and what was kept of it. */
  let type = 0
  let remaining = 0
  let kept: Buffer | undefined
  let keptBytes = 0
  let lost = false

  const finish = () => {
    if (kept) sink(type, kept, 0, keptBytes)
    kept = undefined
  }

  const begin = (splitType: number, payload: number) => {
    type = splitType
    remaining = payload
    const limit = limits[splitType] ?? -1
    kept = limit < 0 ? undefined : Buffer.allocUnsafe(Math.min(limit, payload))
    keptBytes = 0
    if (payload === 0) finish()
  }

  /** Goes on with the split message; returns where the next one begins. */
  const proceed = (chunk: Buffer, at: number): number => {
    const bytes = Math.min(remaining, chunk.length - at)
    if (kept && keptBytes < kept.length) {
      const copied = Math.min(bytes, kept.length - keptBytes)
      chunk.copy(kept, keptBytes, at, at + copied)
      keptBytes += copied
    }
    remaining -= bytes
    if (remaining === 0) finish()
    return at + bytes
  }

  /** The payload's length, or -1 when there is no such message. */
  const payloadOf = (bytes: Buffer, at: number): number => {
    const length = bytes.readInt32BE(at + 1)
    return length < LENGTH_BYTES || length > LENGTH_MAX ? -1 : length - LENGTH_BYTES
  }

  const holdHead = (chunk: Buffer, at: number): number => {
    const bytes = Math.min(HEAD_BYTES - headHeld, chunk.length - at)
    chunk.copy(head, headHeld, at, at + bytes)
    headHeld += bytes
    if (headHeld === HEAD_BYTES) {
      headHeld = 0
      const payload = payloadOf(head, 0)
      if (payload < 0) lost = true
      else begin(head.readUInt8(0), payload)
    }
    return at + bytes
  }

  const push = (chunk: Buffer) => {
    const { length } = chunk
    let at = 0
    while (at < length && !lost) {
      if (remaining > 0) {
        at = proceed(chunk, at)
        continue
      }
      if (headHeld > 0 || length - at < HEAD_BYTES) {
        at = holdHead(chunk, at)
        continue
      }
      const payload = payloadOf(chunk, at)
      if (payload < 0) {
        lost = true
        return
      }
      const next = chunk.readUInt8(at)
      at += HEAD_BYTES
      if (at + payload > length) {
        begin(next, payload)
        continue
      }
      const limit = limits[next] ?? -1
      if (limit >= 0) sink(next, chunk, at, at + (payload < limit ? payload : limit))
      at += payload
    }
  }

  return {
    push,
    get atBoundary() {
      return remaining === 0 && headHeld === 0 && !lost
    },
    get lost() {
      return lost
    },
  }
}
