/** Help, from the contract's own words. */
import { type Area, allAreas, type Operation } from "@svc/contract"
import { globalFlags } from "./arguments.ts"
import {
  areaWord,
  commandOf,
  type Field,
  fieldsOf,
  kebab,
  operationsOf,
  operationWord,
  positionalsOf,
} from "./commands.ts"
import { isKnownByKey } from "./names.ts"
import { alternatives, isNullable, type Schema } from "./schema.ts"

type Row = readonly [string, string]

const layOut = (rows: readonly Row[]): readonly string[] => {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd())
}

export const generalHelp = (extras: readonly Row[]): string =>
  [
    "usage: svc <area> <operation> [fields] [flags]",
    "",
    "Areas",
    ...layOut(allAreas.map(area => [areaWord(area), area.summary])),
    "",
    "Other commands",
    ...layOut(extras),
    "",
    "Flags of every command",
    ...globalRows(),
    "",
    "svc help <area> lists its operations; svc help <area> <operation> explains one.",
  ].join("\n")

const globalRows = (): readonly string[] =>
  layOut(
    Object.entries(globalFlags).map(([name, flag]) => {
      const short = "short" in flag ? `, -${flag.short}` : ""
      return [`--${name}${flag.type === "string" ? " <text>" : ""}${short}`, flag.about]
    }),
  )

export const areaHelp = (area: Area, extras: readonly Row[]): string =>
  [
    `${area.title}: ${area.summary}`,
    "",
    `usage: svc ${areaWord(area)} <operation>`,
    "",
    "Operations",
    ...layOut(
      operationsOf(area)
        .filter(operation => !extras.some(([name]) => name === commandOf(operation)))
        .map(operation => [operationWord(operation), operation.summary]),
    ),
    ...(extras.length > 0 ? ["", "Other commands", ...layOut(extras)] : []),
  ].join("\n")

/** Of commands that begin with the same word, and are no area. */
export const groupHelp = (name: string, extras: readonly Row[]): string =>
  [`usage: svc ${name} <command>`, "", "Commands", ...layOut(extras)].join("\n")

export const operationHelp = (operation: Operation): string => {
  const fields = fieldsOf(operation)
  const example = exampleOf(operation)
  return [
    `usage: svc ${commandOf(operation)}${usageWords(operation)}${fields.length > 0 ? " [fields]" : ""}`,
    "",
    operation.summary,
    ...(operation.description ? ["", operation.description] : []),
    "",
    ...layOut(factsOf(operation)),
    ...(fields.length > 0 ? ["", "Fields", ...layOut(fields.map(field => rowOf(operation, field)))] : []),
    ...(example ? ["", "Example", `  ${example}`] : []),
  ].join("\n")
}

const usageWords = (operation: Operation): string =>
  positionalsOf(operation)
    .filter(({ name }) => !isKnownByKey(operation, name))
    .map(({ flag, required }) => (required ? ` <${flag}>` : ` [${flag}]`))
    .join("")

const factsOf = ({ method, path, scope, effect, faults, aliases }: Operation): readonly Row[] => [
  ["request", `${method} ${path}`],
  ["scope", typeof scope === "string" ? scope : scope.join(" or ")],
  ["effect", effect],
  ...(faults?.length ? [["errors", faults.join(", ")] as const] : []),
  ...Object.entries(aliases ?? {}).map(
    ([alias, name]) => [`--${kebab(alias)}`, `the same as --${kebab(name)}`] as const,
  ),
]

const rowOf = (operation: Operation, { name, flag, schema, required }: Field): Row => {
  const type = typeOf(schema)
  const isKnown = isKnownByKey(operation, name)
  const need = isKnown ? "the key's own when left out" : required ? "required" : ""
  const notes = [need, ...limitsOf(schema), schema.description ?? ""]
  return [
    type === "boolean" ? `--[no-]${flag}` : `--${flag} <${type}>`,
    notes.filter(note => note !== "").join("; "),
  ]
}

const typeOf = (schema: Schema): string => {
  if (Array.isArray(schema.enum)) return schema.enum.join("|")
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.type === "array") return `${typeOf(schema.items ?? {})}…`
  if (schema.type === "integer") return "number"
  if (schema.type === "object") return "json"
  if (schema.type !== undefined) return schema.format ?? schema.type
  const members = [...new Set(alternatives(schema).map(typeOf))]
  const one = members.length === 1 ? members[0] : undefined
  return one ? `${one}${isNullable(schema) ? "|null" : ""}` : "json"
}

const limitsOf = (schema: Schema): readonly string[] => {
  const { minimum, maximum, default: otherwise } = schema
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum !== undefined
        ? `at least ${minimum}`
        : maximum !== undefined
          ? `at most ${maximum}`
          : ""
  return [range, otherwise === undefined ? "" : `default ${JSON.stringify(otherwise)}`]
}

const exampleOf = (operation: Operation): string | undefined => {
  const { example } = operation
  if (!example) return undefined
  const flags = fieldsOf(operation).flatMap(({ name, flag, required }) => {
    const value = example[name]
    // The example of a contract leaves out the ids that only the caller knows.
    if (value === undefined) return required && !isKnownByKey(operation, name) ? [`--${flag} <${flag}>`] : []
    if (typeof value === "boolean") return [value ? `--${flag}` : `--no-${flag}`]
    const texts = Array.isArray(value) && value.every(item => typeof item === "string") ? value : [value]
    return texts.map(item => `--${flag} ${quoted(typeof item === "string" ? item : JSON.stringify(item))}`)
  })
  return ["svc", commandOf(operation), ...flags].join(" ")
}

const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
