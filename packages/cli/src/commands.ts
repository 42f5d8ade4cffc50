/** The commands, computed from the contract: `svc <area> <operation>`, one flag for each field. */
import { type Area, allAreas, isOurs, isWebSocket, type Operation } from "@svc/contract"
import { isScalar, isTextOrList, type Schema } from "./schema.ts"

export interface Field {
  /** On the wire. */
  readonly name: string
  /** Without the leading dashes. */
  readonly flag: string
  readonly schema: Schema
  readonly required: boolean
  readonly place: "path" | "query" | "body"
}

export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase()

export const areaWord = ({ name }: Area): string => kebab(name)
export const operationWord = ({ key }: Operation): string => kebab(key)
export const commandOf = ({ area, key }: Operation): string => `${kebab(area)} ${kebab(key)}`

/** Terminals are commands of their own: `svc sandboxes shell`. */
export const operationsOf = (area: Area): readonly Operation[] =>
  Object.values(area.operations).filter(operation => isOurs(operation) && !isWebSocket(operation))

export const findArea = (word: string): Area | undefined =>
  allAreas.find(area => areaWord(area) === kebab(word))

export const findOperation = (area: Area, word: string): Operation | undefined =>
  operationsOf(area).find(operation => operationWord(operation) === kebab(word))

/** Commands that are no operations, by their words, with what may follow those. */
export type Extras = Readonly<Record<string, { readonly actions?: readonly string[] }>>

/** What may be the second word after each first one. */
export const secondWords = (extras: Extras): ReadonlyMap<string, ReadonlySet<string>> => {
  const after = new Map(
    allAreas.map(area => [areaWord(area), new Set(operationsOf(area).map(operationWord))]),
  )
  for (const [name, { actions = [] }] of Object.entries(extras)) {
    const [first = "", ...others] = name.split(" ")
    after.set(first, new Set([...(after.get(first) ?? []), ...others, ...actions]))
  }
  return after.set("help", new Set(after.keys()))
}

/** In the order of their declaration: path, query, body. What the path names, a body may repeat: that is one field. */
export const fieldsOf = (operation: Operation): readonly Field[] =>
  (
    [
      ["path", operation.params],
      ["query", operation.query],
      ["body", operation.body],
    ] as const
  ).flatMap(([place, object]) =>
    Object.entries(object?.properties ?? {})
      .filter(([name]) => place !== "body" || !Object.hasOwn(operation.params?.properties ?? {}, name))
      .map(([name, schema]) => ({
        name,
        flag: kebab(name),
        schema: schema as Schema,
        required: (object?.required as readonly string[] | undefined)?.includes(name) ?? false,
        place,
      })),
  )

/** The fields that may be given without their flag, in this order. */
export const positionalsOf = (operation: Operation): readonly Field[] => {
  const fields = fieldsOf(operation)
  const required = fields.filter(field => field.required)
  if (required.length > 0) return required.filter(({ schema }) => isScalar(schema) || isTextOrList(schema))
  // `kv del greeting`, `kv keys 'user:*'`: the one field such a command is about.
  const [first] = fields
  return first && first.place !== "query" && first.schema.type === "string" ? [first] : []
}

/** The nearest of some words, if it is near enough to be what was meant. Of two as near, the one that begins as was typed. */
export const nearest = (word: string, words: readonly string[]): string | undefined => {
  const [best] = words
    .map(candidate => ({
      candidate,
      distance: editDistance(word, candidate),
      begins: candidate.startsWith(word) ? 0 : 1,
    }))
    .sort((a, b) => a.distance - b.distance || a.begins - b.begins)
  return best && best.distance <= Math.max(1, word.length / 3) ? best.candidate : undefined
}

const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (const [at, other] of [...to].entries())
      next.push(
        Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, (row[at] ?? 0) + (letter === other ? 0 : 1)),
      )
    row = next
  }
  return row[to.length] ?? 0
}
