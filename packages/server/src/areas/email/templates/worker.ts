/** Runs templates that users wrote. What they can break is this thread, and it is replaced. */
import { Liquid, LiquidError, type Template } from "liquidjs"
import { LRUCache } from "lru-cache"
import { answerTasks } from "../../../kernel/concurrency/thread-side.ts"
import type { ResultOf, Sources, TemplateTask } from "./messages.ts"

const RENDER_MS_MAX = 2_000
/** Liquid's own measure: about the characters and items that a rendering makes. */
const MEMORY_MAX = 10_000_000
const SOURCE_LENGTH_MAX = 2_000_000
const OUTPUT_LENGTH_MAX = 2_000_000
const SUBJECT_LENGTH_MAX = 998
const PARSED_MAX = 200

const LIMITS = {
  // A template reads the fields of its data, not those of prototypes.
  ownPropertyOnly: true,
  strictFilters: true,
  parseLimit: SOURCE_LENGTH_MAX,
  renderLimit: RENDER_MS_MAX,
  memoryLimit: MEMORY_MAX,
  // Partials come from here and not from the disk, and there are none.
  templates: {},
  dynamicPartials: false,
} as const

const forHtml = new Liquid({ ...LIMITS, outputEscape: "escape" })
const forText = new Liquid(LIMITS)

const parsed = new LRUCache<string, Template[]>({ max: PARSED_MAX })

const parse = (engine: Liquid, part: string, source: string): Template[] => {
  const name = `${part}:${source}`
  const known = parsed.get(name)
  if (known) return known
  const templates = engine.parse(source)
  parsed.set(name, templates)
  return templates
}

const evaluate = (engine: Liquid, part: string, source: string, data: object): string => {
  const text = String(engine.renderSync(parse(engine, part, source), data))
  if (text.length > OUTPUT_LENGTH_MAX) throw new RangeError(`${part} becomes too long`)
  return text
}

/** A line break would begin another header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim()

let toText: ((html: string) => string) | undefined

const plain = async (html: string): Promise<string> => {
  const { compile } = await import("html-to-text")
  toText ??= compile({
    wordwrap: 78,
    limits: { maxInputLength: OUTPUT_LENGTH_MAX, maxDepth: 100, maxChildNodes: 20_000 },
    selectors: [
      { selector: "img", format: "skip" },
      { selector: "a", options: { hideLinkHrefIfSameAsText: true } },
    ],
  })
  return toText(html)
}

const render = async ({ subject, html, text }: Sources, data: object) => {
  const made = evaluate(forHtml, "html", html, data)
  return {
    subject: oneLine(evaluate(forText, "subject", subject, data)).slice(0, SUBJECT_LENGTH_MAX),
    html: made,
    text: text === null ? await plain(made) : evaluate(forText, "text", text, data),
  }
}

const check = ({ subject, html, text }: Sources): null => {
  parse(forText, "subject", subject)
  parse(forHtml, "html", html)
  if (text !== null) parse(forText, "text", text)
  return null
}

const compileMjml = async (mjml: string): Promise<string> => {
  const { default: mjml2html } = await import("mjml")
  // Files that a template names are none of its business.
  const options = { validationLevel: "soft", ignoreIncludes: true, keepComments: false } as const
  const { html, errors } = await mjml2html(mjml, options)
  const [first] = errors
  if (first) throw new SyntaxError(first.formattedMessage)
  return html
}

const perform = (task: TemplateTask): Promise<ResultOf[keyof ResultOf]> | ResultOf[keyof ResultOf] => {
  if (task.kind === "render") return render(task.sources, task.data)
  if (task.kind === "check") return check(task.sources)
  return task.kind === "mjml" ? compileMjml(task.mjml) : plain(task.html)
}

const PROBLEM_LENGTH_MAX = 300

const problemOf = (error: unknown): string => {
  const message = LiquidError.is(error) || error instanceof Error ? error.message : "it cannot be used"
  return oneLine(message).slice(0, PROBLEM_LENGTH_MAX)
}

answerTasks(perform, problemOf)
