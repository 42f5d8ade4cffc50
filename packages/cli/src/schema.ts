/** The words of JSON Schema that the command line reads. */
export interface Schema {
  readonly type?: "string" | "integer" | "number" | "boolean" | "array" | "object" | "null"
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly description?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
}

/** The members of a union without its null. */
export const alternatives = ({ anyOf = [] }: Schema): readonly Schema[] =>
  anyOf.filter(({ type }) => type !== "null")

export const isNullable = ({ anyOf = [] }: Schema): boolean => anyOf.some(({ type }) => type === "null")

/** Fits one word of the command line. A field of any type does: its text is JSON or else a string. */
export const isScalar = (schema: Schema): boolean =>
  schema.type === undefined
    ? alternatives(schema).every(isScalar)
    : ["string", "integer", "number"].includes(schema.type)

/** A text or a list of words: a command of a shell, or a program with its arguments. */
export const isTextOrList = (schema: Schema): boolean => {
  const types = schema.type === undefined ? alternatives(schema).map(({ type }) => type) : []
  return types.length === 2 && types.includes("string") && types.includes("array")
}

/** The schema of a list, or of the list in a list or null. */
export const listSchema = (schema: Schema): Schema | undefined => {
  const [only, ...others] = schema.type === undefined ? alternatives(schema) : [schema]
  return only?.type === "array" && others.length === 0 ? only : undefined
}
