/** Finds tools by words. */
import type { Principal } from "../../kernel/call.ts"
import { definitionFor } from "./tools.ts"
import { type NamedOperation, toolsFor } from "./toolsets.ts"

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** A word of the name counts more than one of the description, and a whole word more than its beginning. */
const scoreOf = ([name, operation]: NamedOperation, words: readonly string[]): number => {
  const { description } = definitionFor(name, operation)
  const ofName = new Set([...name.split("_"), operation.area])
  const ofText = new Set(wordsOf(description))
  const scores = words.map((word): number => {
    if (ofName.has(word)) return 10
    if ([...ofName].some(part => part.startsWith(word) || (part.length > 2 && word.startsWith(part))))
      return 6
    if (ofText.has(word)) return 3
    return [...ofText].some(part => part.startsWith(word)) ? 1 : 0
  })
  return scores.reduce((sum, score) => sum + score, 0)
}

export const searchTools = (principal: Principal, query: string, limit: number) => {
  const words = [...new Set(wordsOf(query))].slice(0, 20)
  return toolsFor(principal, "all")
    .map(tool => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.tool[0].localeCompare(b.tool[0]))
    .slice(0, limit)
    .map(({ tool: [name, operation] }) => ({
      name,
      toolset: operation.area,
      description: definitionFor(name, operation).description,
    }))
}
