/** What a person types, and what travels. */
import { parseExact } from "@svc/sdk"
import type { Details, Schema } from "../model.ts"

export type Kind = "text" | "long" | "number" | "choice" | "switch" | "lines" | "choices" | "json"

/** A field that may also be null. */
export const isNullable = (schema: Schema): boolean =>
  schema.anyOf?.some(({ type }) => type === "null") === true

/** The schema of a value that is not null. */
export const valueSchema = (schema: Schema): Schema => {
  const others = schema.anyOf?.filter(({ type }) => type !== "null")
  const only = others?.length === 1 ? others[0] : undefined
  return only ? { ...only, ...(schema.description ? { description: schema.description } : {}) } : schema
}

/** Fields in which people write more than a line. */
const LONG = /^(sql|code|body|html|text|prompt|query|content|source|message|markdown|instructions|input)$/

export const kindOf = (name: string, given: Schema): Kind => {
  const schema = valueSchema(given)
  if (schema.enum) return "choice"
  if (schema.type === "boolean") return "switch"
  if (schema.type === "integer" || schema.type === "number") return "number"
  if (schema.type === "string")
    return LONG.test(name) && (schema.maxLength ?? Infinity) > 200 ? "long" : "text"
  if (schema.type === "array" && schema.items?.enum) return "choices"
  if (schema.type === "array" && schema.items?.type === "string") return "lines"
  return "json"
}

/** What stands in the controls: text, and lists of chosen words. */
export type Typed = Readonly<Record<string, string | readonly string[] | null>>

/** Text of a value, as the control of its kind shows it. */
export const typedOf = (name: string, schema: Schema, value: unknown): string | readonly string[] | null => {
  if (value === null) return null
  const kind = kindOf(name, schema)
  if (kind === "choices" && Array.isArray(value)) return value.map(String)
  if (kind === "lines" && Array.isArray(value)) return value.join("\n")
  if (kind === "json") return JSON.stringify(value, null, 2)
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

export class NotReadable extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

const parsed = (name: string, text: string, what: string): unknown => {
  try {
    return parseExact(text)
  } catch {
    throw new NotReadable(name, `This is not ${what}.`)
  }
}

const readValue = (name: string, schema: Schema, typed: string | readonly string[]): unknown => {
  if (typeof typed !== "string") return typed.length > 0 ? typed : undefined
  const kind = kindOf(name, schema)
  // A person may want to send an empty text; that is a pair of quotes in no control, so an empty one is left out.
  if (typed === "") return undefined
  if (kind === "switch") return typed === "true"
  if (kind === "number") return parsed(name, typed.trim(), "a number")
  if (kind === "lines") return typed.split("\n").filter(line => line !== "")
  if (kind === "json") return parsed(name, typed, "JSON")
  return typed
}

/** All fields of an operation in the order of a form: path, query, body, headers. */
export const fieldsOf = (details: Details) => {
  const parts = [
    ["path", details.params],
    ["query", details.query],
    ["body", details.body],
    ["header", details.headers],
  ] as const
  return parts.flatMap(([part, schema]) =>
    Object.entries(schema?.properties ?? {}).map(([name, field]) => ({
      part,
      name,
      schema: field,
      isRequired: schema?.required?.includes(name) === true && part !== "header",
    })),
  )
}

export type Field = ReturnType<typeof fieldsOf>[number]

/** Throws NotReadable for what is no number or no JSON. */
export const readInput = (details: Details, typed: Typed): Record<string, unknown> => {
  const fields: Record<string, unknown> = {}
  for (const { name, schema } of fieldsOf(details)) {
    const value = typed[name]
    if (value === undefined) continue
    const read = value === null ? null : readValue(name, schema, value)
    if (read !== undefined) fields[name] = read
  }
  return fields
}

/** Fields without a value that must have one. */
export const missingFields = (details: Details, input: Readonly<Record<string, unknown>>): string[] =>
  fieldsOf(details)
    .filter(({ name, isRequired }) => isRequired && input[name] === undefined)
    .map(({ name }) => name)
