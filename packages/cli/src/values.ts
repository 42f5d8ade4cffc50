/** One word of the command line as the value its field's schema asks for. */
import { parseExact } from "@svc/sdk"
import { alternatives, isNullable, isTextOrList, listSchema, type Schema } from "./schema.ts"
import { UsageError } from "./terminal.ts"

/** Throws UsageError naming `label` when the text cannot be such a value; finer checks are the platform's. */
export const parseValue = (text: string, schema: Schema, label: string): unknown => {
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

const parseUnion = (text: string, schema: Schema, label: string): unknown => {
  if (isNullable(schema) && text === "null") return null
  const members = alternatives(schema)
  const [only] = members
  if (only && members.length === 1) return parseValue(text, only, label)
  if (members.length > 0 && members.every(({ type }) => type === "string")) return text
  const value = parseJson(text)
  if (isTextOrList(schema)) return Array.isArray(value) ? value : text
  return value === undefined ? text : value
}

const parseJson = (text: string): unknown => {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** A flag as often as it was given: a list takes each word as an item, or one word as the whole list in JSON. */
export const parseValues = (texts: readonly string[], schema: Schema, label: string): unknown => {
  const list = listSchema(schema)
  const [first = ""] = texts
  if (texts.length === 1 && (!list || /^\s*\[/.test(first) || (isNullable(schema) && first === "null")))
    return parseValue(first, schema, label)
  if (!list) throw new UsageError(`${label} is given more than once`)
  return texts.map(text => parseValue(text, list.items ?? {}, label))
}
