/** No null character reaches PostgreSQL's text, a file's name or a variable of a process, from any field of any body. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { allOperations, type Operation } from "@svc/contract"
import { type Incoming, none } from "../kernel/exchange.ts"
import { isFault } from "../kernel/fault.ts"
import { validate } from "../kernel/stages/validate.ts"

type Schema = Readonly<Record<string, unknown>>
type Place = readonly string[]

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null

/** Where a body may have a text, or a name that is data. */
const placesOf = (schema: unknown, place: Place = []): Place[] => {
  if (!isSchema(schema)) return []
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat()
  if (branches.length > 0) return branches.flatMap(branch => placesOf(branch, place))
  if (schema.type === "string" && !schema.enum && !schema.const) return [place]
  const isAny = schema.type === undefined && schema.const === undefined && schema.enum === undefined
  const values = Object.values((schema.patternProperties ?? {}) as Schema)
  if (isSchema(schema.additionalProperties)) values.push(schema.additionalProperties)
  return [
    ...(isAny ? [place] : []),
    ...Object.entries((schema.properties ?? {}) as Schema).flatMap(([name, inner]) =>
      placesOf(inner, [...place, name]),
    ),
    ...values.flatMap(inner => [[...place, "a\0b"], ...placesOf(inner, [...place, "A"])]),
    ...(isSchema(schema.items) ? placesOf(schema.items, [...place, "0"]) : []),
  ]
}

const at = ([first, ...rest]: Place): unknown => {
  if (first === undefined) return "a\0b"
  return first === "0" ? [at(rest)] : { [first]: at(rest) }
}

/** The code that the body is refused with; undefined where it passes. */
const refusalOf = async (operation: Operation, body: unknown): Promise<string | undefined> => {
  const read = async () => body
  const incoming = { params: {}, query: {}, json: read, form: read } as unknown as Incoming
  const { params: _, query: __, ...bare } = operation
  // What else is wrong with the body is said first, so the rest of the declaration is left away.
  const open = { ...bare, body: { type: "object", properties: {}, additionalProperties: true } }
  const exchange = { operation: open, incoming, input: {}, meters: none }
  try {
    await validate(exchange as unknown as Parameters<typeof validate>[0])
    return undefined
  } catch (error) {
    if (!isFault(error)) throw error
    return `${error.code} ${error.details.errors?.[0]?.message ?? ""}`
  }
}

test("a null character is refused in every text of every body, but where bytes are kept", async () => {
  let count = 0
  for (const operation of allOperations.filter(({ body }) => body)) {
    for (const place of placesOf(operation.body)) {
      const [field = ""] = place
      const value = at(place) as Record<string, unknown>
      const refused = await refusalOf(
        operation,
        operation.bodyAs === undefined ? value : value[operation.bodyAs],
      )
      const isKept = operation.nulFields?.includes(field) === true
      if (isKept) assert.equal(refused, undefined, `${operation.name} ${place.join(".")}`)
      else
        assert.match(
          refused ?? "",
          /^validation_failed must not contain null/,
          `${operation.name} ${place.join(".")}`,
        )
      count += 1
    }
  }
  assert.ok(count > 500, `${count} places were tried`)
})

test("the fields that keep null characters are those of bytes and of JSON", () => {
  const kept = allOperations.flatMap(({ name, nulFields = [] }) => nulFields.map(field => `${name} ${field}`))
  const areas = new Set(kept.map(entry => entry.split(".")[0]))
  assert.deepEqual([...areas].sort(), ["encryption", "functions", "kv", "mcp"])
  for (const entry of kept) assert.doesNotMatch(entry, / (env|labels|storage|name|description|handler)$/)
})
