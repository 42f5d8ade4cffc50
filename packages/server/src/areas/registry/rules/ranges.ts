/** Byte ranges of blobs: RFC 9110, section 14, and those of uploads, which the distribution specification has. */
import type { ByteRange } from "../../../ports/blob/port.ts"

const SINGLE = /^bytes=\s*(?:(\d{1,16})-(\d{0,16})|-(\d{1,16}))\s*$/i

/** Several ranges in one request, or a header that is not understood, ask for all of it, as 14.2 allows. */
export const parseRange = (header: string | undefined, size: number): ByteRange | "all" | "unsatisfiable" => {
  const [, from, to, last] = SINGLE.exec(header ?? "") ?? []
  if (last !== undefined) {
    const bytes = Math.min(Number(last), size)
    return bytes === 0 ? "unsatisfiable" : { start: size - bytes, end: size - 1 }
  }
  if (from === undefined) return "all"
  const start = Number(from)
  if (to && Number(to) < start) return "all"
  if (start >= size) return "unsatisfiable"
  return { start, end: to ? Math.min(Number(to), size - 1) : size - 1 }
}

const CHUNK = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d{1,15}|\*))?$/

/** The bytes that a request to an upload says it has; undefined where it says nothing, null where that is no range. */
export const parseChunk = (header: string | undefined): ByteRange | null | undefined => {
  if (header === undefined) return undefined
  const [, start, end] = CHUNK.exec(header.trim()) ?? []
  return start === undefined || Number(end) < Number(start)
    ? null
    : { start: Number(start), end: Number(end) }
}

/** The pieces that a range of the whole is made of, in order. */
export const piecesOf = <Piece extends { readonly bytes: number }>(
  pieces: readonly Piece[],
  { start, end }: ByteRange,
): { readonly piece: Piece; readonly range: ByteRange }[] => {
  const found: { piece: Piece; range: ByteRange }[] = []
  let at = 0
  for (const piece of pieces) {
    const range = { start: Math.max(start - at, 0), end: Math.min(end - at, piece.bytes - 1) }
    if (range.start <= range.end) found.push({ piece, range })
    at += piece.bytes
    if (at > end) break
  }
  return found
}
