/**
 * Redis's glob grammar: `*` any run, `?` one character, `[abc]` `[a-z]` `[^a]` one of a class, `\` takes the
 * next character as it is. Written by hand because a regular expression made of a user's pattern can take
 * exponential time.
 *
 * Two readings that Redis shares: a class left open ends with the pattern, and a lone `\` at the end is
 * itself. One that it does not share: a character is a Unicode code point here, a byte there.
 */

const ANY_RUN = "any run"
type Piece = typeof ANY_RUN | ((character: number) => boolean)

const character = (text: string, at: number): number => text.codePointAt(at) ?? -1
const width = (codePoint: number): number => (codePoint > 0xffff ? 2 : 1)

/** Reads the class that opens at `at`, just behind its `[`. */
const readClass = (pattern: string, at: number): { piece: Piece; next: number } => {
  const negated = pattern[at] === "^"
  const ranges: [low: number, high: number][] = []
  let next = negated ? at + 1 : at
  while (next < pattern.length && pattern[next] !== "]") {
    const escaped = pattern[next] === "\\" && next + 1 < pattern.length
    const first = character(pattern, escaped ? next + 1 : next)
    const behind = next + width(first) + (escaped ? 1 : 0)
    if (!escaped && pattern[behind] === "-" && behind + 1 < pattern.length) {
      const last = character(pattern, behind + 1)
      ranges.push([Math.min(first, last), Math.max(first, last)])
      next = behind + 1 + width(last)
    } else {
      ranges.push([first, first])
      next = behind
    }
  }
  const isListed = (tested: number) => ranges.some(([low, high]) => tested >= low && tested <= high)
  return { piece: tested => isListed(tested) !== negated, next: next + 1 }
}

const literal =
  (expected: number): Piece =>
  tested =>
    tested === expected

const readPieces = (pattern: string): Piece[] => {
  const pieces: Piece[] = []
  let at = 0
  while (at < pattern.length) {
    if (pattern[at] === "*") {
      if (pieces.at(-1) !== ANY_RUN) pieces.push(ANY_RUN)
      at += 1
    } else if (pattern[at] === "?") {
      pieces.push(() => true)
      at += 1
    } else if (pattern[at] === "[") {
      const { piece, next } = readClass(pattern, at + 1)
      pieces.push(piece)
      at = next
    } else {
      if (pattern[at] === "\\" && at + 1 < pattern.length) at += 1
      pieces.push(literal(character(pattern, at)))
      at += width(character(pattern, at))
    }
  }
  return pieces
}

/**
 * Tells whether a whole text matches. Takes at most text × pattern steps and no memory: on a mismatch only
 * the last `*` takes one character more, since an earlier one could not do better.
 */
export const globMatcher = (pattern: string): ((text: string) => boolean) => {
  const pieces = readPieces(pattern)
  return text => {
    let at = 0
    let piece = 0
    let runPiece = -1
    let runEnd = 0
    while (at < text.length) {
      const expected = pieces[piece]
      const found = character(text, at)
      if (expected === ANY_RUN) {
        runPiece = piece
        runEnd = at
        piece += 1
      } else if (expected?.(found)) {
        at += width(found)
        piece += 1
      } else if (runPiece >= 0) {
        runEnd += width(character(text, runEnd))
        at = runEnd
        piece = runPiece + 1
      } else {
        return false
      }
    }
    if (pieces[piece] === ANY_RUN) piece += 1
    return piece === pieces.length
  }
}

/** The text that every match begins with. */
export const literalPrefix = (pattern: string): string => {
  let prefix = ""
  for (let at = 0; at < pattern.length; at += 1) {
    if ("*?[".includes(pattern.charAt(at))) break
    if (pattern[at] === "\\" && at + 1 < pattern.length) at += 1
    prefix += pattern[at]
  }
  return prefix
}
