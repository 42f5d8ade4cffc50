/** Byte ranges of uploads, as the distribution specification has them. */
import type { ByteRange } from "../../../ports/blob/port.ts"

const CHUNK = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d{1,15}|\*))?$/

/** The bytes that a request to an upload says it has; undefined where it says nothing, null where that is no range. */
export const parseChunk = (header: string | undefined): ByteRange | null | undefined => {
  if (header === undefined) return undefined
  const [, start, end] = CHUNK.exec(header.trim()) ?? []
  return start === undefined || Number(end) < Number(start)
    ? null
    : { start: Number(start), end: Number(end) }
}
