/** Variables of a template: what it needs, and what stands in where `data` has nothing. */
import { isRawNumber } from "../../../kernel/exact-json.ts"

export const variableTypes = ["string", "number", "boolean", "array", "object"] as const

export interface Variable {
  readonly name: string
  readonly type: (typeof variableTypes)[number]
  readonly required: boolean
  readonly default: unknown
}

export type TemplateData = Readonly<Record<string, unknown>>

const isGiven = (data: TemplateData, name: string): boolean =>
  Object.hasOwn(data, name) && data[name] !== null && data[name] !== undefined

const typeOf = (value: unknown): string => {
  if (isRawNumber(value)) return "number"
  return Array.isArray(value) ? "array" : typeof value
}

/** A number or a boolean reads well where a text is expected. */
const fits = (value: unknown, type: Variable["type"]): boolean =>
  type === "string" ? !["object", "array"].includes(typeOf(value)) : typeOf(value) === type

/** Names of required variables that have neither a value nor a default. */
export const missingVariables = (variables: readonly Variable[], data: TemplateData): string[] =>
  variables
    .filter(variable => variable.required && variable.default === null && !isGiven(data, variable.name))
    .map(({ name }) => name)

/** Names of variables whose value is of another type than the template says. */
export const mistypedVariables = (variables: readonly Variable[], data: TemplateData): string[] =>
  variables
    .filter(({ name, type }) => isGiven(data, name) && !fits(data[name], type))
    .map(({ name, type }) => `${name} (${type})`)

export const withDefaults = (variables: readonly Variable[], data: TemplateData): TemplateData => ({
  ...data,
  ...Object.fromEntries(
    variables
      .filter(({ name, default: otherwise }) => otherwise !== null && !isGiven(data, name))
      .map(({ name, default: otherwise }) => [name, otherwise]),
  ),
})
