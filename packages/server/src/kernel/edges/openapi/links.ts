/** Links from what makes a thing to what names it in a path: create → get, change, delete. */
import type { Operation, TSchema } from "@svc/contract"
import type { JsonSchema } from "./schemas.ts"

interface Step {
  readonly operation: Operation
  /** The part of the path that names the thing. */
  readonly parameter: string
}

/** The operations below a path, by one parameter more. */
const stepsBelow = (path: string, operations: readonly Operation[]): Step[] =>
  operations.flatMap(operation => {
    if (!operation.path.startsWith(`${path}/{`)) return []
    const [, parameter = "", rest = ""] = /^\{(\w+)\}(.*)$/.exec(operation.path.slice(path.length + 1)) ?? []
    return parameter === "" || rest.includes("{") ? [] : [{ operation, parameter }]
  })

/** `/v1/storage/buckets` makes what `{bucket}` names. */
const isSingularOf = (path: string, parameter: string): boolean =>
  path.slice(path.lastIndexOf("/") + 1) === `${parameter}s`

/** The field of the reply that the parameter takes: one of its own name, or the thing's id, or its name. */
const fieldFor = (path: string, parameter: string, fields: object): string | undefined => {
  const candidates = [
    parameter,
    ...(parameter.endsWith("id") ? ["id"] : []),
    ...(isSingularOf(path, parameter) ? ["name"] : []),
  ]
  return candidates.find(name => name in fields)
}

export type Links = (operation: Operation, schema: TSchema) => JsonSchema

/** The links of a success reply, by the operation they lead to. */
export const createLinks =
  (operations: readonly Operation[]): Links =>
  ({ method, path, envelope }, schema) => {
    const fields = (schema as { properties?: object }).properties
    if (method !== "POST" || fields === undefined) return {}
    const body = envelope === "data" ? "#/data" : "#"
    const above = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [
      `path.${name}`,
      `$request.path.${name}`,
    ])
    return Object.fromEntries(
      stepsBelow(path, operations).flatMap(({ operation, parameter }) => {
        const field = fieldFor(path, parameter, fields)
        if (field === undefined) return []
        const named = [`path.${parameter}`, `$response.body${body}/${field}`]
        return [
          [operation.id, { operationId: operation.id, parameters: Object.fromEntries([...above, named]) }],
        ]
      }),
    )
  }
