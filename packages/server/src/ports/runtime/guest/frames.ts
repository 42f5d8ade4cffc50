/**
 * What the platform and a guest agent say to each other (agent/agent.pl): frames of a length (of what follows it, u32),
 * a type (u8), a channel (u32) and a payload, all big-endian. The platform numbers channels as it opens them. A channel
 * has streams; who sends on one may have WINDOW_BYTES of data under way that the other has not granted again.
 */

export const frameTypes = {
  open: 1,
  opened: 2,
  failed: 3,
  data: 4,
  end: 5,
  credit: 6,
  signal: 7,
  resize: 8,
  exited: 9,
  close: 10,
  stop: 11,
  ready: 12,
} as const

export interface Frame {
  readonly type: number
  readonly channel: number
  readonly payload: Buffer
}

export const WINDOW_BYTES = 262_144
export const CHUNK_BYTES = 65_536
const FRAME_BYTES_MAX = 131_072
const HEADER_BYTES = 9

const empty = Buffer.alloc(0)

export const frameOf = (type: number, channel: number, ...payload: readonly Uint8Array[]): Buffer => {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  const payloadBytes = payload.reduce((sum, part) => sum + part.length, 0)
  header.writeUInt32BE(5 + payloadBytes, 0)
  header.writeUInt8(type, 4)
  header.writeUInt32BE(channel, 5)
  return Buffer.concat([header, ...payload])
}

export const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.allocUnsafe(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index)
  return bytes
}

/** Texts, each after its length in bytes. */
export const words = (...texts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(
    texts.map(Buffer.from as (text: string | Buffer) => Buffer).flatMap(text => [numbers(text.length), text]),
  )

/** Throws a RangeError when a length leads out of the bytes. */
export const readWords = (bytes: Buffer): readonly string[] => {
  const texts: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) throw new RangeError("a text is longer than its frame")
    texts.push(bytes.toString("utf8", at + 4, end))
    at = end
  }
  return texts
}

/**
 * Cuts what arrives into frames; holds at most one frame that is not whole. Throws a RangeError for a length that no
 * frame has: the other side cannot be understood from there on.
 */
export const createFrameReader = (take: (frame: Frame) => void): ((bytes: Buffer) => void) => {
  let held: Buffer = empty
  return bytes => {
    let rest = held.length === 0 ? bytes : Buffer.concat([held, bytes])
    while (rest.length >= HEADER_BYTES) {
      const length = rest.readUInt32BE(0)
      if (length < 5 || length > FRAME_BYTES_MAX) throw new RangeError(`a frame of ${length} bytes`)
      if (rest.length < 4 + length) break
      const payload = rest.subarray(HEADER_BYTES, 4 + length)
      take({ type: rest.readUInt8(4), channel: rest.readUInt32BE(5), payload })
      rest = rest.subarray(4 + length)
    }
    held = rest
  }
}
