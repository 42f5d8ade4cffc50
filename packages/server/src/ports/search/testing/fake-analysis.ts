/** As much of OpenSearch's analyzers as the conformance tests can see. */

const STOP_WORDS: Readonly<Record<string, ReadonlySet<string>>> = {
  english: new Set(["a", "an", "and", "are", "it", "the", "to", "was", "were", "is", "through"]),
  german: new Set(["am", "die", "der", "das"]),
}

const STEMS: Readonly<Record<string, (word: string) => string>> = {
  english: word => word.replace(/(nning|nners|ning|ing|s)$/, match => (match.startsWith("nn") ? "n" : "")),
  german: word => word.replaceAll("ä", "a").replace(/(ern|er|en|e)$/, ""),
}

export interface Token {
  readonly term: string
  readonly from: number
  readonly to: number
  readonly position: number
}

export const analyze = (text: string, analyzer: string): Token[] =>
  [...text.matchAll(/[\p{L}\p{N}]+/gu)].flatMap(({ 0: word, index }, position) => {
    const lower = word.toLowerCase()
    if (STOP_WORDS[analyzer]?.has(lower)) return []
    return { term: STEMS[analyzer]?.(lower) ?? lower, from: index, to: index + word.length, position }
  })

/** Levenshtein's distance with swaps, at most `limit + 1`. */
export const editDistance = (a: string, b: string): number => {
  const rows = Array.from({ length: a.length + 1 }, (_, row) =>
    Array.from({ length: b.length + 1 }, (_, column) => (row === 0 ? column : column === 0 ? row : 0)),
  )
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row++) {
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1
      let least = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + cost)
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        least = Math.min(least, at(row - 2, column - 2) + 1)
      const line = rows[row]
      if (line) line[column] = least
    }
  }
  return at(a.length, b.length)
}
