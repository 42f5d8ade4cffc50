/** One word of the command line as the value its field's schema asks for. */
import type { TSchema } from "@svc/contract"
import { alternatives, isNullable } from "./commands.ts"
import { UsageError } from "./terminal.ts"

/** Throws UsageError naming `label` when the text cannot be such a value; finer checks are the platform's. */
export const parseValue = (text: string, schema: TSchema, label: string): unknown => {
  switch (schema.type) {
    case "string":
      return text
    case "integer":
    case "number":
      return parseNumber(text, schema.type, label)
    case "boolean":
      if (text === "true" || text === "false") return text === "true"
      throw new UsageError(`${label} must be true or false`)
    case "array":
    case "object":
      return parseStructure(text, schema.type, label)
    default:
      return parseUnion(text, schema, label)
  }
}

const parseNumber = (text: string, type: "integer" | "number", label: string): number => {
  const value = Number(text)
  const fits = type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value)
  if (text.trim() === "" || !fits)
    throw new UsageError(`${label} must be ${type === "integer" ? "a whole number" : "a number"}`)
  return value
}

const parseStructure = (text: string, type: "array" | "object", label: string): unknown => {
  const value = parseJson(text)
  const fits =
    type === "array" ? Array.isArray(value) : typeof value === "object" && value && !Array.isArray(value)
  if (!fits) throw new UsageError(`${label} must be a JSON ${type}`)
  return value
}

const parseUnion = (text: string, schema: TSchema, label: string): unknown => {
  if (isNullable(schema) && text === "null") return null
  const members = alternatives(schema)
  const [only] = members
  if (only && members.length === 1) return parseValue(text, only, label)
  if (members.length > 0 && members.every(({ type }) => type === "string")) return text
  return parseJson(text) ?? (text.trim() === "null" ? null : text)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A repeated flag: each word an item, or one word the whole list as JSON. */
export const parseList = (texts: readonly string[], schema: TSchema, label: string): unknown => {
  const [first = ""] = texts
  if (texts.length === 1 && first.trimStart().startsWith("[")) return parseStructure(first, "array", label)
  return texts.map(text => parseValue(text, (schema.items ?? {}) as TSchema, label))
}

/** The array schema of a field that is a list, or a list or null. */
export const listSchema = (schema: TSchema): TSchema | undefined => {
  if (schema.type === "array") return schema
  const lists = alternatives(schema).filter(({ type }) => type === "array")
  return lists.length === 1 && alternatives(schema).length === 1 ? lists[0] : undefined
}
