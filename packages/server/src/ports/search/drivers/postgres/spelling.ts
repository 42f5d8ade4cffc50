/** How differently two words are spelled. */

/** Mistakes that a word of this length may have: none below four letters, one below eight, two from there on. */
export const distanceMax = (word: string): number => {
  const { length } = [...word]
  if (length < 4) return 0
  return length < 8 ? 1 : 2
}

/**
 * Optimal string alignment distance: letters put in, left out, replaced, or swapped with their neighbour. More than
 * `limit` is given as `limit + 1`.
 */
export const distance = (one: string, other: string, limit: number): number => {
  const a = [...one]
  const b = [...other]
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return Math.min(last[b.length] ?? 0, limit + 1)
}
