/** Schemas that several areas share. */
import { type Static, T, type TSchema } from "./dsl.ts"

export const Id = T.String({ format: "uuid", description: "UUID" })
export const Time = T.String({ format: "date-time", description: "RFC 3339 time in UTC" })
export const Email = T.String({ format: "email", maxLength: 254 })

/** A label that a person chooses; it need not be unique unless the area says so. */
export const Name = T.String({ minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f\\u007f]+$" })

export const Nullable = <S extends TSchema>(schema: S, options: { readonly description?: string } = {}) =>
  T.Union([schema, T.Null()], options)

/** The same schema with a description of its own; a copy by spread would lose the marks of the schema library. */
export const described = <S extends TSchema>(schema: S, description: string): S =>
  Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(schema),
      description: { value: description, enumerable: true, writable: true, configurable: true },
    },
  ) as S

/** Marks a field whose invalid values have an error code of their own. */
export const FIELD_FAULT = "x-svc-code"

/** An object whose property names are data, such as labels: every name must match `name`. */
export const Dictionary = <S extends TSchema>(
  name: TSchema,
  value: S,
  options: { readonly description?: string; readonly maxProperties?: number } = {},
) =>
  T.Unsafe<Record<string, Static<S>>>({
    type: "object",
    propertyNames: name,
    additionalProperties: value,
    ...options,
  })

/**
 * Which fields of an object exclude or require each other, for the OpenAPI document alone: handlers check it with error
 * codes of their own.
 */
export const EITHER_OR = "x-svc-either-or"
export interface EitherOr {
  readonly rule: "exactly-one" | "at-least-one" | "at-most-one"
  readonly fields: readonly string[]
}
export const exactlyOne = (...fields: string[]): EitherOr => ({ rule: "exactly-one", fields })
export const atLeastOne = (...fields: string[]): EitherOr => ({ rule: "at-least-one", fields })
export const atMostOne = (...fields: string[]): EitherOr => ({ rule: "at-most-one", fields })
export const eitherOr = (...rules: EitherOr[]) => ({ [EITHER_OR]: rules })

/** Marks a number in a request that keeps its digits, as values of no declared type do. */
export const EXACT_NUMBERS = "x-svc-exact"

/** A whole number of any size. Clients in JavaScript send those above 2^53 as `bigint`. */
export const ExactInteger = T.Unsafe<number | bigint | { readonly rawJSON: string }>(
  T.Integer({ [EXACT_NUMBERS]: true }),
)

/** A closed set of words; an `enum` in JSON Schema, a union in TypeScript. */
export const OneOf = <const Values extends readonly string[]>(
  values: Values,
  options: { readonly description?: string; readonly default?: NoInfer<Values[number]> } = {},
) => T.Unsafe<Values[number]>(T.String({ enum: [...values], ...options }))

/** A closed set of upper-case words that are taken in lower case too. */
export const AnyCase = (values: readonly string[]) => {
  const patterns = values.map(value =>
    value.replaceAll(/[A-Z]/g, letter => `[${letter}${letter.toLowerCase()}]`),
  )
  const words = values.map(value => `\`${value}\``).join(", ")
  return T.String({ pattern: `^(?:${patterns.join("|")})$`, description: `${words}, in either case` })
}

const LIST_LIMIT_DEFAULT = 50
const LIST_LIMIT_MAX = 200

/** `limit` and `offset` of a list; newest first unless the operation says otherwise. */
export const pageQuery = {
  limit: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: LIST_LIMIT_MAX,
      default: LIST_LIMIT_DEFAULT,
      description: "Largest number of items in the reply",
    }),
  ),
  offset: T.Optional(
    T.Integer({ minimum: 0, maximum: 1_000_000, default: 0, description: "Number of items to skip" }),
  ),
}

export const PageQuery = T.Object(pageQuery)

export interface PageInput {
  limit?: number
  offset?: number
}

/** A list reply. The envelope adds `request_id` beside these fields instead of wrapping them again. */
export const Page = <S extends TSchema>(item: S) =>
  T.Object(
    {
      data: T.Array(item, { description: "One page of the list" }),
      total: T.Integer({ description: "Number of items on all pages" }),
      limit: T.Integer({ description: "The `limit` that was applied" }),
      offset: T.Integer({ description: "The `offset` that was applied" }),
    },
    { "x-svc-list": true },
  )

/** The part of a list that a request asks for. */
export const pageOf = ({ limit = LIST_LIMIT_DEFAULT, offset = 0 }: PageInput) => ({ limit, offset })

export const page = <Row>({ rows, total }: { rows: Row[]; total: number }, input: PageInput) => ({
  data: rows,
  total,
  ...pageOf(input),
})

export const isList = (schema: TSchema): boolean => "x-svc-list" in schema

/** Headers of a stream of server-sent events that can be resumed. */
export const LastEvent = T.Object({
  "Last-Event-ID": T.Optional(T.String({ description: "`id` of the last event that arrived" })),
})
