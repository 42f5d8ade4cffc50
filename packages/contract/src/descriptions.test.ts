import assert from "node:assert/strict"
import { test } from "node:test"
import { allOperations, isOurs } from "./index.ts"

/** Names that say all there is to know wherever they occur. */
const SELF_EXPLANATORY = new Set(["id", "name", "email", "title", "description", "subject", "url"])

interface Schema {
  readonly description?: string
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

const isDescribed = ({ description, anyOf = [] }: Schema): boolean =>
  description !== undefined || anyOf.some(isDescribed)

/** Paths of the fields below a schema that neither their name nor a description explains. */
const unexplained = ({ anyOf = [], items, properties = {} }: Schema, path: string): string[] => [
  ...anyOf.flatMap(member => unexplained(member, path)),
  ...(items ? unexplained(items, `${path}[]`) : []),
  ...Object.entries(properties).flatMap(([name, field]) => [
    ...(SELF_EXPLANATORY.has(name) || isDescribed(field) ? [] : [`${path}.${name}`]),
    ...unexplained(field, `${path}.${name}`),
  ]),
]

test("every field of a request or reply is explained by its name or a description", () => {
  const missing = allOperations
    .filter(isOurs)
    .flatMap(({ name, params, query, headers, body, replies }) =>
      Object.entries({ params, query, headers, body, ...replies }).flatMap(([place, schema]) =>
        schema ? unexplained(schema as Schema, `${name} ${place}`) : [],
      ),
    )
  assert.deepEqual(missing, [])
})
