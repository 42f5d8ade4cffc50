/** Where in a body the values are the caller's own, which the platform keeps and gives back and does not compute with. */
import { EXACT_NUMBERS } from "@svc/contract"

/** `whole`: the value itself is; otherwise some of its fields, or each of its entries. */
export interface OwnPlaces {
  readonly whole: boolean
  readonly fields: ReadonlyMap<string, OwnPlaces>
  readonly each: OwnPlaces | undefined
}

type Schema = Readonly<Record<string, unknown>>

const WHOLE: OwnPlaces = { whole: true, fields: new Map(), each: undefined }
const NOWHERE: OwnPlaces = { whole: false, fields: new Map(), each: undefined }

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isNowhere = ({ whole, fields, each }: OwnPlaces): boolean => !whole && fields.size === 0 && !each

const merged = (a: OwnPlaces, b: OwnPlaces): OwnPlaces => {
  if (a.whole || b.whole) return WHOLE
  const names = new Set([...a.fields.keys(), ...b.fields.keys()])
  return {
    whole: false,
    fields: new Map(
      [...names].map(name => [name, merged(a.fields.get(name) ?? NOWHERE, b.fields.get(name) ?? NOWHERE)]),
    ),
    each: a.each && b.each ? merged(a.each, b.each) : (a.each ?? b.each),
  }
}

/** What narrows a value at all; a schema without any of these takes whatever there is. */
const NARROWING = ["type", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "not"]

const entriesOf = (schema: unknown): [string, OwnPlaces][] =>
  Object.entries(isSchema(schema) ? schema : {})
    .map(([name, inner]): [string, OwnPlaces] => [name, ownPlacesOf(inner)])
    .filter(([, places]) => !isNowhere(places))

export const ownPlacesOf = (schema: unknown): OwnPlaces => {
  if (!isSchema(schema)) return NOWHERE
  if (schema[EXACT_NUMBERS] === true || !NARROWING.some(keyword => keyword in schema)) return WHOLE
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat()
  const inner = [
    ...entriesOf(schema.patternProperties).map(([, places]) => places),
    ...(isSchema(schema.additionalProperties) ? [ownPlacesOf(schema.additionalProperties)] : []),
    ...(isSchema(schema.items) ? [ownPlacesOf(schema.items)] : []),
  ].filter(places => !isNowhere(places))
  const own: OwnPlaces = {
    whole: false,
    fields: new Map(entriesOf(schema.properties)),
    each: inner.length > 0 ? inner.reduce(merged) : undefined,
  }
  return branches.map(ownPlacesOf).reduce(merged, own)
}

/** Takes the caller's own values from `exact` and all others from `checked`, which it changes in place. */
export const restoreOwn = (places: OwnPlaces, checked: unknown, exact: unknown): unknown => {
  if (places.whole) return exact
  if (isNowhere(places) || typeof checked !== "object" || checked === null) return checked
  const target = checked as Record<string, unknown>
  const source = exact as Record<string, unknown>
  for (const key of Object.keys(source)) {
    const inner = places.fields.get(key) ?? places.each
    // What validation has put in place of a missing field has no digits to give back.
    if (inner) target[key] = restoreOwn(inner, target[key], source[key])
  }
  return target
}
