/** Schemas of the declarations as JSON, with those that several operations share lifted into components. */

import { EITHER_OR, type EitherOr } from "@svc/contract"
import { isJsonObject } from "../../json-object.ts"

export type JsonSchema = Record<string, unknown>

/** Where a schema is used, with names it may get as a component: the first that is free. */
export interface SchemaUse {
  readonly schema: unknown
  readonly names: readonly string[]
}

export interface SchemaCache {
  /** The schema for a place in the document: a reference where it is shared, else the schema itself. */
  at(schema: unknown): JsonSchema
  /** The shared schemas that were referred to so far, by name. */
  readonly components: Readonly<Record<string, JsonSchema>>
}

const isObjectSchema = (value: JsonSchema): boolean =>
  value.type === "object" && isJsonObject(value.properties)

/** `created_by` → `CreatedBy`, `kvSet` → `KvSet`. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[_\W]+)(\w)/g, (_, first: string) => first.toUpperCase())

/** A field that may be null is not given by being null. */
const given = (field: string, properties: JsonSchema) => {
  const { anyOf } = (properties[field] ?? {}) as { anyOf?: readonly JsonSchema[] }
  const isNullable = anyOf?.some(({ type }) => type === "null")
  return { required: [field], ...(isNullable && { properties: { [field]: { not: { type: "null" } } } }) }
}

const rulesOf = ({ rule, fields }: EitherOr, properties: JsonSchema): JsonSchema[] => {
  const alternatives = fields.map(field => given(field, properties))
  if (rule === "exactly-one") return [{ oneOf: alternatives }]
  if (rule === "at-least-one") return [{ anyOf: alternatives }]
  return alternatives.flatMap((one, at) =>
    alternatives.slice(at + 1).map(other => ({ not: { required: [...one.required, ...other.required] } })),
  )
}

/** Inside `allOf`, where generators of clients still read the object's fields. */
export const withAlternatives = (schema: JsonSchema): JsonSchema => {
  const { [EITHER_OR]: rules, ...rest } = schema
  if (rules === undefined) return schema
  const allOf = (rules as EitherOr[]).flatMap(rule => rulesOf(rule, rest.properties as JsonSchema))
  return { ...rest, allOf }
}

/** Counts each object schema by identity: one that is met twice was declared once and is meant to be the same. */
const countUses = (uses: readonly SchemaUse[]) => {
  const found = new Map<object, { count: number; names: readonly string[] }>()
  const walk = (value: unknown, names: readonly string[]): void => {
    if (typeof value !== "object" || value === null) return
    if (!isJsonObject(value) || !isObjectSchema(value)) {
      for (const inner of Object.values(value)) walk(inner, names)
      return
    }
    const known = found.get(value)
    if (known) {
      known.count++
      return
    }
    found.set(value, { count: 1, names })
    for (const [field, inner] of Object.entries(value.properties as JsonSchema)) {
      const nested = names.map(name => name + pascalCase(field))
      walk(inner, nested)
    }
  }
  for (const { schema, names } of uses) walk(schema, names)
  return found
}

const nameShared = (uses: readonly SchemaUse[]): Map<unknown, string> => {
  const names = new Map<unknown, string>()
  const taken = new Set<string>()
  for (const [schema, use] of countUses(uses)) {
    if (use.count < 2) continue
    const last = use.names.at(-1) ?? "Schema"
    const free = [...use.names, ...Array.from({ length: uses.length }, (_, index) => `${last}${index + 2}`)]
    const name = free.find(candidate => !taken.has(candidate)) ?? last
    taken.add(name)
    names.set(schema, name)
  }
  return names
}

/** `finish` is applied to every schema that leaves the cache, components included. */
export const createSchemaCache = (
  uses: readonly SchemaUse[],
  finish: (schema: JsonSchema) => JsonSchema = schema => schema,
): SchemaCache => {
  const names = nameShared(uses)
  const components: Record<string, JsonSchema> = {}

  const write = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(write)
    if (!isJsonObject(value)) return value
    const name = names.get(value)
    if (name === undefined) return writeFields(value)
    components[name] ??= finish(writeFields(value))
    return { $ref: `#/components/schemas/${name}` }
  }
  const writeFields = (schema: JsonSchema): JsonSchema =>
    withAlternatives(Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, write(value)])))

  return { at: schema => finish(write(schema) as JsonSchema), components }
}
