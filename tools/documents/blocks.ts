/** The commands of a page: its fenced `sh` blocks, and the `output` blocks behind them. */
export interface CommandBlock {
  /** Line of the page at which the commands begin. */
  readonly line: number
  readonly commands: string
  readonly output: string | undefined
  /** The reader runs it, the test does not. */
  readonly isNotTested: boolean
  /** It runs only where this area is available. */
  readonly needs: string | undefined
  /** What it shows comes a moment later, so it is run again until then. */
  readonly isEventual: boolean
}

interface Fence {
  readonly line: number
  readonly words: readonly string[]
  readonly text: string
  /** Nothing but empty lines between this block and the one before. */
  readonly isAdjacent: boolean
}

const readFences = (page: string): Fence[] => {
  const lines = page.split("\n")
  const fences: Fence[] = []
  let isAdjacent = false
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ""
    const opened = /^```(.*)$/.exec(line)
    if (!opened) {
      if (line.trim() !== "") isAdjacent = false
      continue
    }
    const end = lines.indexOf("```", index + 1)
    if (end === -1) throw new Error(`line ${index + 1} opens a block that nothing closes`)
    fences.push({
      line: index + 2,
      words: (opened[1] ?? "").trim().split(/\s+/),
      text: lines.slice(index + 1, end).join("\n"),
      isAdjacent,
    })
    index = end
    isAdjacent = true
  }
  return fences
}

const KNOWN_WORDS = ["no-test", "eventually"]

const readWords = ([, ...words]: readonly string[], line: number) => {
  const needs = words.find(word => word.startsWith("needs="))?.slice("needs=".length)
  const unknown = words.filter(word => !KNOWN_WORDS.includes(word) && !word.startsWith("needs="))
  if (unknown.length > 0) throw new Error(`line ${line}: no such word for a block: ${unknown.join(" ")}`)
  return { needs, isNotTested: words.includes("no-test"), isEventual: words.includes("eventually") }
}

export const readBlocks = (page: string): CommandBlock[] => {
  const fences = readFences(page)
  return fences.flatMap((fence, index) => {
    const next = fences[index + 1]
    if (fence.words[0] === "output" && (!fence.isAdjacent || fences[index - 1]?.words[0] !== "sh"))
      throw new Error(`line ${fence.line}: an output without its commands`)
    if (fence.words[0] !== "sh") return []
    const { needs, isNotTested, isEventual } = readWords(fence.words, fence.line)
    return [
      {
        line: fence.line,
        commands: fence.text,
        output: next?.words[0] === "output" && next.isAdjacent ? next.text : undefined,
        isNotTested,
        needs,
        isEventual,
      },
    ]
  })
}
