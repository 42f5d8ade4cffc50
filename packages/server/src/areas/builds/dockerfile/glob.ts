/** Go's filepath.Match, in time that no pattern can stretch. */

/** What one place of a pattern takes: a character, one of a set, or (`*`) any number of characters. */
type Piece = "*" | ((character: string) => boolean)

const any = () => true

const setOf = (inner: string): ((character: string) => boolean) => {
  const isNegated = inner.startsWith("^")
  const members = [...(isNegated ? inner.slice(1) : inner)]
  const ranges: [string, string][] = []
  for (let at = 0; at < members.length; at += 1) {
    const first = members[at] as string
    const isRange = members[at + 1] === "-" && members[at + 2] !== undefined
    ranges.push([first, isRange ? (members[at + 2] as string) : first])
    if (isRange) at += 2
  }
  return character => ranges.some(([low, high]) => character >= low && character <= high) !== isNegated
}

const piecesOf = (glob: string): Piece[] => {
  const pieces: Piece[] = []
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at] as string
    const end = character === "[" ? glob.indexOf("]", at + 2) : -1
    if (character === "*") pieces.push("*")
    else if (character === "?") pieces.push(any)
    else if (end >= 0) {
      pieces.push(setOf(glob.slice(at + 1, end)))
      at = end
    } else {
      const isEscaped = character === "\\" && at + 1 < glob.length
      if (isEscaped) at += 1
      const literal = glob[at]
      pieces.push(other => other === literal)
    }
  }
  return pieces
}

/** Greedy, with the last star to fall back to: at most as many steps as the two lengths multiplied. */
const matches = <Item>(
  items: readonly Item[],
  count: number,
  isStar: (at: number) => boolean,
  takes: (at: number, item: Item) => boolean,
): boolean => {
  let [at, piece, starAt, starPiece] = [0, 0, 0, -1]
  while (at < items.length) {
    if (piece < count && isStar(piece)) {
      starPiece = piece
      starAt = at
      piece += 1
    } else if (piece < count && takes(piece, items[at] as Item)) {
      at += 1
      piece += 1
    } else if (starPiece >= 0) {
      starAt += 1
      at = starAt
      piece = starPiece + 1
    } else return false
  }
  while (piece < count && isStar(piece)) piece += 1
  return piece === count
}

/** One name of a path. */
export const partMatcher = (glob: string): ((name: string) => boolean) => {
  const pieces = piecesOf(glob)
  return name =>
    matches(
      [...name],
      pieces.length,
      at => pieces[at] === "*",
      (at, character) => {
        const piece = pieces[at]
        return piece !== undefined && piece !== "*" && piece(character)
      },
    )
}

export const hasWildcard = (text: string): boolean => /[*?[]/.test(text)

/** Names of a path that are neither empty nor `.`. */
export const partsOf = (path: string): string[] => path.split("/").filter(part => part !== "" && part !== ".")

/** A whole path; `**` is any number of names. */
export const pathMatcher = (glob: string): ((parts: readonly string[]) => boolean) => {
  const globs = partsOf(glob).map(part => (part === "**" ? "**" : partMatcher(part)))
  return parts =>
    matches(
      parts,
      globs.length,
      at => globs[at] === "**",
      (at, part) => {
        const matcher = globs[at]
        return matcher !== undefined && matcher !== "**" && matcher(part)
      },
    )
}
