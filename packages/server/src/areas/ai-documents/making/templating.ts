/** Liquid to Markdown. Values are text: whatever is in them, they become no heading, no link and no cell of a table. */
import { Liquid, LiquidError } from "liquidjs"
import { DocumentProblem } from "./blocks.ts"

const LIMITS = {
  parseLimit: 300_000,
  renderLimit: 2_000,
  memoryLimit: 20_000_000,
} as const
const OUTPUT_LENGTH_MAX = 1_000_000

/** A backslash before punctuation makes it text in Markdown. */
const escapeMarkdown = (value: unknown): string => {
  if (value === null || value === undefined) return ""
  return String(value)
    .replaceAll(/[!-/:-@[-`{-~]/g, "\\$&")
    .replaceAll(/\r\n?|\n/g, "<br>")
}

const liquid = new Liquid({
  ...LIMITS,
  outputEscape: escapeMarkdown,
  // A template reads the fields of its data, not those of prototypes.
  ownPropertyOnly: true,
  strictFilters: true,
  strictVariables: true,
  lenientIf: true,
  // Partials come from here and not from the disk, and there are none.
  templates: {},
  dynamicPartials: false,
})

/** Throws a `DocumentProblem` with what is wrong with the template or its data. */
export const fillTemplate = (source: string, data: object): string => {
  try {
    const text = String(liquid.parseAndRenderSync(source, data))
    if (text.length > OUTPUT_LENGTH_MAX) throw new DocumentProblem("its template becomes too long")
    return text
  } catch (error) {
    if (LiquidError.is(error)) throw new DocumentProblem(error.message)
    throw error
  }
}
