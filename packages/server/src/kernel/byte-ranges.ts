/** Byte ranges: RFC 9110, section 14. */

/** Both ends belong to it, counted from 0. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

const SINGLE = /^bytes=\s*(?:(\d{1,16})-(\d{0,16})|-(\d{1,16}))\s*$/i

/**
 * What of `size` bytes a `Range` header asks for. Several ranges in one request, or a header that is not
 * understood, ask for all of it, as 14.2 allows.
 */
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

/** The pieces of blobs that a range of the whole is made of, in order. */
export const piecesOf = <Part>(
  parts: readonly Part[],
  bytesOf: (part: Part) => number,
  { start, end }: ByteRange,
): { readonly part: Part; readonly range: ByteRange }[] => {
  const pieces: { part: Part; range: ByteRange }[] = []
  let at = 0
  for (const part of parts) {
    const bytes = bytesOf(part)
    const range = { start: Math.max(start - at, 0), end: Math.min(end - at, bytes - 1) }
    if (range.start <= range.end) pieces.push({ part, range })
    at += bytes
    if (at > end) break
  }
  return pieces
}
