/** Compares the rows of an answer with those of the expected statement. */

const plain = (value: string | null): string => {
  if (value === null) return "∅"
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return String(Math.round(Number(value) * 1e6) / 1e6)
  return value.replace(/ 00:00:00(?:\+00)?$/, "")
}

const columnsOf = (rows: readonly (readonly (string | null)[])[], width: number): string[][] =>
  Array.from({ length: width }, (_, column) => rows.map(row => plain(row[column] ?? null)))

/**
 * Whether the rows are the same multiset once columns of the answer are picked for those of the solution. An answer
 * may show more columns (an id beside the name), never more or fewer rows.
 */
export const sameAnswer = (
  answer: readonly (readonly (string | null)[])[],
  solution: readonly (readonly (string | null)[])[],
): boolean => {
  if (answer.length !== solution.length) return false
  if (answer.length === 0) return true
  const given = columnsOf(answer, answer[0]?.length ?? 0)
  const wanted = columnsOf(solution, solution[0]?.length ?? 0)
  const sorted = (column: readonly string[]) => column.toSorted().join("\u0001")
  const rowsOf = (columns: readonly (readonly string[])[]) =>
    answer
      .map((_, row) => columns.map(column => column[row]).join("\u0000"))
      .sort()
      .join("\u0001")
  const target = rowsOf(wanted)
  const pick = (chosen: number[]): boolean => {
    if (chosen.length === wanted.length) return rowsOf(chosen.map(index => given[index] ?? [])) === target
    const next = sorted(wanted[chosen.length] ?? [])
    return given.some(
      (column, index) => !chosen.includes(index) && sorted(column) === next && pick([...chosen, index]),
    )
  }
  return pick([])
}
