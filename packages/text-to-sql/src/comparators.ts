/** How numbers are compared in words. */
import type { Operator } from "./query.ts"
import { match, type Reading, skipCharacters, textFrom } from "./reading.ts"

const before: readonly (readonly [string, Operator])[] = [
  [
    "(?:no|not) (?:more|greater|higher|larger) than|at most|up to|(?:a )?maximum of|max|<=|not (?:over|above|exceeding)",
    "<=",
  ],
  [
    "(?:no|not) (?:less|fewer|lower|smaller) than|at least|(?:a )?minimum of|min|>=|not (?:under|below)",
    ">=",
  ],
  ["(?:is |are |was |were )?not equal to|!=|<>|other than|different from", "<>"],
  [
    "(?:more|greater|larger|bigger|higher|longer|better|later) than|over|above|exceeding|exceeds?|exceeded|beyond|>",
    ">",
  ],
  ["(?:less|fewer|lower|smaller|shorter|worse|earlier) than|under|below|<", "<"],
  ["exactly|equals?(?: to)?|=|precisely", "="],
]
const NUMBER = "(?:\\$ |€ |£ )?(-?\\d+(?:\\.\\d+)?)(?! or )"

export interface Comparison {
  readonly op: Operator
  readonly value: number
}

/** `more than 5`, `5 or more`, `>= 5`; with `bare` also `5` and `of 5`. Steps over what it read. */
export const takeComparison = (reading: Reading, bare = false): Comparison | null => {
  const text = textFrom(reading)
  for (const [words, op] of before) {
    const found = match(
      text,
      `(?:(?:is|are|was|were|of|be|has|have|had|with|that is|which is) )?(?:${words}) (?:a |the )?${NUMBER}`,
    )
    if (found) {
      skipCharacters(reading, found[0].length)
      return { op, value: Number(found[1]) }
    }
  }
  const behind = match(
    text,
    "(?:(?:is|are|was|were|of) )?(?:\\$ |€ |£ )?(\\d+(?:\\.\\d+)?)(?: [a-z$€£%]+)? (?:or|and) (more|above|higher|over|greater|up|older|later|less|fewer|below|lower|under|younger)",
  )
  if (behind) {
    // `18 years or older`: the unit may come after the words too, and then is read as silent.
    skipCharacters(reading, behind[0].length)
    return {
      op: /more|above|higher|over|greater|up|older|later/.test(behind[2] ?? "") ? ">=" : "<=",
      value: Number(behind[1]),
    }
  }
  const equal = bare ? match(text, `(?:(?:is|are|was|were|of|equals?|=|to|in|at|for|as) )*${NUMBER}`) : null
  if (!equal) return null
  skipCharacters(reading, equal[0].length)
  return { op: "=", value: Number(equal[1]) }
}

/** A comparison whose other side is still to come: `more than` … */
export const takeComparator = (reading: Reading): Operator | null => {
  for (const [words, op] of before) {
    const found = match(textFrom(reading), `(?:(?:is|are|was|were) )?(?:${words})`)
    if (found) {
      skipCharacters(reading, found[0].length)
      return op
    }
  }
  return null
}

export const takeBetween = (reading: Reading): { readonly low: number; readonly high: number } | null => {
  const text = textFrom(reading)
  const found =
    match(text, `(?:is |are |was |were )?(?:in )?between ${NUMBER}(?: [a-z$€£%]+)? (?:and|to) ${NUMBER}`) ??
    match(text, `(?:ranging |ranges? )?from ${NUMBER}(?: [$€£%])? to ${NUMBER}`)
  if (!found) return null
  skipCharacters(reading, found[0].length)
  const [low = 0, high = 0] = [Number(found[1]), Number(found[2])].sort((a, b) => a - b)
  return { low, high }
}
