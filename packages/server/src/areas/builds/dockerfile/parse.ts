/** Dockerfiles as stages of instructions. A library finds the instructions; what they say is read here. */
import { DockerfileParser } from "dockerfile-ast"
import { BuildError } from "../build-error.ts"

export interface Heredoc {
  readonly name: string
  readonly text: string
  /** Whether variables in it are replaced. */
  readonly expands: boolean
}

export interface Instruction {
  /** Upper case. */
  readonly keyword: string
  readonly flags: readonly (readonly [name: string, value: string])[]
  /** What follows the flags, in one line. */
  readonly text: string
  /** The words, where the text is a JSON list of strings. */
  readonly json: readonly string[] | undefined
  readonly heredocs: readonly Heredoc[]
  readonly line: number
}

export interface Stage {
  /** What FROM names, variables and all. */
  readonly base: string
  readonly name: string | undefined
  readonly platform: string | undefined
  readonly instructions: readonly Instruction[]
  readonly line: number
}

export interface Dockerfile {
  readonly escaping: string
  /** ARG instructions before the first FROM. */
  readonly before: readonly Instruction[]
  readonly stages: readonly Stage[]
}

const BYTES_MAX = 1024 ** 2
const INSTRUCTIONS_MAX = 2_000
const KNOWN = new Set([
  ...["FROM", "RUN", "CMD", "LABEL", "MAINTAINER", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME"],
  ...["USER", "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL", "HEALTHCHECK", "SHELL"],
])

const failAt = (line: number, reason: string) => new BuildError(`Dockerfile line ${line}: ${reason}`)

/** Continued lines as one, without the comments between them. */
const join = (lines: readonly string[], escaping: string): string => {
  const end = escaping === "`" ? /`[ \t]*$/ : /\\[ \t]*$/
  let out = ""
  for (const [index, line] of lines.entries()) {
    if (index > 0 && (/^\s*#/.test(line) || line.trim() === "")) continue
    if (!end.test(line)) return out + line
    out += line.replace(end, "")
  }
  return out
}

const jsonOf = (text: string): readonly string[] | undefined => {
  if (!text.startsWith("[")) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.every(word => typeof word === "string")) return value
  } catch {
    // A shell's `[`.
  }
  return undefined
}

const HEREDOC = /<<(-?)(["']?)([A-Za-z0-9_.]+)\2/g

/** Texts of the heredocs that the first line announces, from the lines below it. */
const heredocsOf = (first: string, lines: readonly string[], line: number): Heredoc[] => {
  let at = 0
  return [...first.matchAll(HEREDOC)].map(([, dash, quote, name = ""]) => {
    const body: string[] = []
    for (;;) {
      const next = lines[at]
      if (next === undefined) throw failAt(line, `the text that ends with ${name} does not end`)
      at += 1
      const shown = dash === "-" ? next.replace(/^\t+/, "") : next
      if (shown === name) break
      body.push(shown)
    }
    return { name, text: body.map(each => `${each}\n`).join(""), expands: quote === "" }
  })
}

const FLAG = /^--([a-z][a-z-]*)(?:=("[^"]*"|\S*))?\s+/

const splitFlags = (text: string) => {
  const flags: (readonly [string, string])[] = []
  let rest = text
  for (let match = FLAG.exec(rest); match; match = FLAG.exec(rest)) {
    const [whole, name = "", value = "true"] = match
    flags.push([name, value.replace(/^"(.*)"$/, "$1")])
    rest = rest.slice(whole.length)
  }
  return { flags, rest }
}

const TAKES_FLAGS = new Set(["FROM", "RUN", "ADD", "COPY", "HEALTHCHECK"])
const TAKES_HEREDOCS = new Set(["RUN", "ADD", "COPY"])

const readInstruction = (lines: readonly string[], line: number, escaping: string): Instruction => {
  const [first = ""] = lines
  const announces = /^\s*(RUN|ADD|COPY)\s/i.test(first) && HEREDOC.test(first)
  HEREDOC.lastIndex = 0
  const whole = announces ? first : join(lines, escaping)
  const [, word = "", after = ""] = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(whole) ?? []
  const keyword = word.toUpperCase()
  if (!KNOWN.has(keyword)) throw failAt(line, `${word.slice(0, 40) || "this"} is no instruction`)
  const { flags, rest } = TAKES_FLAGS.has(keyword)
    ? splitFlags(`${after.trim()} `)
    : { flags: [], rest: after }
  const text = rest.trim()
  if (text === "") throw failAt(line, `${keyword} says nothing`)
  const heredocs = announces && TAKES_HEREDOCS.has(keyword) ? heredocsOf(first, lines.slice(1), line) : []
  return { keyword, flags, text, json: jsonOf(text), heredocs, line }
}

const readStage = (instruction: Instruction): Stage => {
  const { text, flags, line } = instruction
  const [, base = "", name] = /^(\S+)(?:\s+as\s+(\S+))?$/i.exec(text) ?? []
  if (base === "") throw failAt(line, "FROM is `FROM image` or `FROM image AS name`")
  const platform = flags.find(([flag]) => flag === "platform")?.[1]
  return { base, name: name?.toLowerCase(), platform, instructions: [], line }
}

export const parseDockerfile = (source: string): Dockerfile => {
  if (Buffer.byteLength(source) > BYTES_MAX) throw new BuildError("the Dockerfile is larger than 1 MiB")
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n")
  const parsed = DockerfileParser.parse(text)
  const escaping = parsed.getEscapeCharacter()
  const lines = text.split("\n")
  const found = parsed.getInstructions()
  if (found.length > INSTRUCTIONS_MAX)
    throw new BuildError(`the Dockerfile has more than ${INSTRUCTIONS_MAX} instructions`)
  const before: Instruction[] = []
  const stages: (Stage & { instructions: Instruction[] })[] = []
  for (const each of found) {
    const { start, end } = each.getRange()
    const instruction = readInstruction(lines.slice(start.line, end.line + 1), start.line + 1, escaping)
    if (instruction.keyword === "FROM") stages.push({ ...readStage(instruction), instructions: [] })
    else if (stages.length > 0) stages.at(-1)?.instructions.push(instruction)
    else if (instruction.keyword === "ARG") before.push(instruction)
    else throw failAt(instruction.line, `${instruction.keyword} comes before the first FROM`)
  }
  if (stages.length === 0) throw new BuildError("the Dockerfile has no FROM")
  return { escaping, before, stages }
}

/** Stages that `target` needs, in their order: itself and those it takes from. */
export const stagesFor = (dockerfile: Dockerfile, target: string | undefined): readonly number[] => {
  const { stages } = dockerfile
  const indexOf = (name: string, below: number): number => {
    if (/^\d+$/.test(name) && Number(name) < below) return Number(name)
    return stages.findLastIndex((stage, at) => at < below && stage.name === name.toLowerCase())
  }
  const last = target === undefined ? stages.length - 1 : indexOf(target, stages.length)
  if (last < 0) throw new BuildError(`the Dockerfile has no stage ${target}`)
  const needed = new Set<number>()
  const need = (at: number) => {
    if (at < 0 || needed.has(at)) return
    needed.add(at)
    const stage = stages[at]
    if (!stage) return
    need(indexOf(stage.base, at))
    for (const { flags } of stage.instructions)
      for (const [name, value] of flags) if (name === "from") need(indexOf(value, at))
  }
  need(last)
  return [...needed].sort((one, other) => one - other)
}
