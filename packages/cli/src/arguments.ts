/** From the words of a command line to the operation, its input and the settings of the call. */
import { parseArgs } from "node:util"
import type { Operation } from "@svc/contract"
import { commandOf, type Field, fieldsOf, kebab, nearest, positionalsOf } from "./commands.ts"
import { isKnownByKey } from "./names.ts"
import { alternatives, isTextOrList, type Schema } from "./schema.ts"
import { UsageError } from "./terminal.ts"
import { parseValues } from "./values.ts"

interface Flag {
  readonly type: "string" | "boolean"
  readonly short?: string
  readonly multiple?: true
  readonly about?: string
}

/** Flags of every command. After the command's words, a field of the same name takes precedence. */
export const globalFlags = {
  json: { type: "boolean", about: "Print the exact JSON" },
  yes: { type: "boolean", short: "y", about: "Do not ask before destroying something" },
  wait: { type: "boolean", about: "Wait for the approval of a person instead of ending with code 4" },
  project: { type: "string", about: "Project id, for a key of the whole organization (SVC_PROJECT)" },
  url: { type: "string", about: "Address of the server (SVC_API_URL)" },
  wide: { type: "boolean", about: "Show all columns of a list" },
  data: {
    type: "string",
    about: "The whole input as JSON (of an invocation: the event), or - to read it from standard input",
  },
  file: { type: "string", about: "The file to send, or - for standard input" },
  output: { type: "string", short: "o", about: "The file to write received bytes to" },
  "idempotency-key": {
    type: "string",
    about: "Idempotency key: a repeated command takes effect once within a day",
  },
  help: { type: "boolean", short: "h", about: "Show help" },
  version: { type: "boolean", about: "Show the version" },
} as const satisfies Record<string, Flag>

type GlobalName = keyof typeof globalFlags

export type Globals = {
  readonly [Name in GlobalName]?: (typeof globalFlags)[Name]["type"] extends "boolean" ? boolean : string
}

interface Words {
  /** The area and the operation, or one word of another command. */
  readonly words: readonly string[]
  readonly globals: Globals
  /** What follows the words. */
  readonly rest: readonly string[]
}

/** Takes the command's words out of the line: two, or one where `isWhole` knows the first. */
export const takeWords = (line: readonly string[], isWhole: (word: string) => boolean): Words => {
  const { tokens } = parseArgs({
    args: [...line],
    options: globalFlags,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const positionals = tokens.filter(token => token.kind === "positional")
  const first = positionals[0]
  const taken = positionals.slice(0, first && isWhole(first.value) ? 1 : 2)
  const last = taken.at(-1)
  const end = last ? last.index + 1 : line.length
  const before = line.filter((_, index) => index < end && !taken.some(token => token.index === index))
  return {
    words: taken.map(({ value }) => value),
    globals: parseStrictly(before, globalFlags).values as Globals,
    rest: line.slice(end),
  }
}

/** Flags that only one command has. */
export type OwnFlags = Readonly<Record<string, Omit<Flag, "multiple"> & { readonly about: string }>>

/** Those that were given: a text, or true. */
export type Flags = Readonly<Record<string, string | true>>

/** The arguments of a command that is no operation: global flags, its own, and words. */
export const takeGlobals = (line: readonly string[], about?: string, own: OwnFlags = {}) => {
  const { values, positionals } = parseStrictly(line, { ...globalFlags, ...own }, about)
  const flags = Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(own, name)))
  return { globals: values as Globals, words: positionals, flags: flags as Flags }
}

const parseStrictly = (line: readonly string[], flags: Record<string, Flag>, about?: string) => {
  try {
    return parseArgs({
      args: [...line],
      options: flags,
      allowPositionals: true,
      allowNegative: true,
    })
  } catch (error) {
    throw new UsageError(explain(error, Object.keys(flags)), about)
  }
}

const explain = (error: unknown, flags: readonly string[]): string => {
  const message = error instanceof Error ? error.message : String(error)
  const unknown = /^Unknown option '--?([^']*)'/.exec(message)?.[1]
  if (unknown === undefined) return message.split("\n")[0] ?? message
  const meant = nearest(unknown, flags)
  return `unknown flag --${unknown}${meant ? `; did you mean --${meant}?` : ""}`
}

export interface OperationArguments {
  readonly globals: Globals
  /** The fields that the line gives, before those of `--data`. */
  readonly input: Readonly<Record<string, unknown>>
}

export const takeFields = (operation: Operation, line: readonly string[]): OperationArguments => {
  const about = commandOf(operation)
  const fields = fieldsOf(operation)
  const byFlag = new Map([...aliasFields(operation, fields), ...fields].map(field => [field.flag, field]))
  const flags: Record<string, Flag> = { ...globalFlags }
  for (const [flag, { schema }] of byFlag)
    flags[flag] = schema.type === "boolean" ? { type: "boolean" } : { type: "string", multiple: true }
  const { values, positionals } = parseStrictly(spellOutBooleans(line, byFlag), flags, about)

  const input: Record<string, unknown> = {}
  const globals: Record<string, unknown> = {}
  for (const [flag, value] of Object.entries(values)) {
    const field = byFlag.get(flag)
    if (field) input[field.name] = readField(field, value, about)
    else globals[flag] = value
  }
  takePositionals(operation, positionals, input)
  return { globals: globals as Globals, input }
}

const aliasFields = (operation: Operation, fields: readonly Field[]): readonly Field[] =>
  Object.entries(operation.aliases ?? {}).flatMap(([alias, name]) => {
    const field = fields.find(candidate => candidate.name === name)
    return field ? [{ ...field, flag: kebab(alias) }] : []
  })

/** `--nx=false` means `--no-nx`, which is how the parser wants it. */
const spellOutBooleans = (line: readonly string[], byFlag: ReadonlyMap<string, Field>): readonly string[] =>
  line.map(word => {
    const [, flag = "", value] = /^--([\w-]+)=(true|false)$/.exec(word) ?? []
    if (byFlag.get(flag)?.schema.type !== "boolean") return word
    return value === "true" ? `--${flag}` : `--no-${flag}`
  })

/** A value that stands on standard input: `--payload -`. */
export const STANDARD_INPUT = Symbol("standard input")

/** JSON that is a structure is never a dash; a text may be one. */
const isStructure = (schema: Schema): boolean =>
  schema.type === undefined
    ? alternatives(schema).length > 0 && alternatives(schema).every(isStructure)
    : schema.type === "object" || schema.type === "array"

const readField = ({ flag, schema }: Field, value: unknown, about: string): unknown => {
  if (!Array.isArray(value)) return value
  if (value.length === 1 && value[0] === "-" && isStructure(schema)) return STANDARD_INPUT
  try {
    return parseValues(value, schema, `--${flag}`)
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, about) : error
  }
}

const takePositionals = (
  operation: Operation,
  words: readonly string[],
  input: Record<string, unknown>,
): void => {
  const all = positionalsOf(operation).filter(({ name }) => !(name in input))
  const asked = all.filter(({ name }) => !isKnownByKey(operation, name))
  // What the key knows is a word only where words are given for all.
  const free = words.length === all.length ? all : asked
  const last = free.at(-1)
  // `computers exec web1 -- ls -l`: a program and its arguments.
  const takesRest = last !== undefined && isTextOrList(last.schema) && words.length > free.length
  if (takesRest) input[last.name] = words.slice(free.length - 1)
  const single = takesRest ? words.slice(0, free.length - 1) : words
  const surplus = single[free.length]
  if (surplus !== undefined) throw new UsageError(`unexpected word: ${surplus}`, commandOf(operation))
  single.forEach((word, index) => {
    const field = free[index]
    if (field) input[field.name] = readField(field, [word], commandOf(operation))
  })
}

/** Throws UsageError naming the required fields that nothing gave. */
export const checkRequired = (operation: Operation, input: Readonly<Record<string, unknown>>): void => {
  const missing = fieldsOf(operation).filter(
    ({ name, required }) => required && input[name] === undefined && !isKnownByKey(operation, name),
  )
  if (missing.length > 0)
    throw new UsageError(`missing ${missing.map(({ flag }) => `--${flag}`).join(", ")}`, commandOf(operation))
}
