import { type FaultCode, FIELD_FAULT, faultSpec, faults, type Operation, type TObject } from "@svc/contract"
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv"
import addFormats from "ajv-formats"
import type { RefusedField } from "./fault.ts"
import { isUuid } from "./id.ts"
import { type OwnPlaces, ownPlacesOf, restoreOwn } from "./own-places.ts"

type Schema = Record<string, unknown>

/** How TypeBox writes that every name will do; but names may have line breaks, which `.` does not match. */
const ANY_NAME = "^.*$"

/** Unknown fields are refused at every depth, unless a schema opens itself. */
export const close = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(close)
  if (typeof schema !== "object" || schema === null) return schema
  const closed: Schema = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, close(value)]))
  if (closed.type !== "object" || closed.additionalProperties !== undefined) return closed
  const { [ANY_NAME]: any, ...patterns } = (closed.patternProperties ?? {}) as Schema
  if (any !== undefined) {
    delete closed.patternProperties
    closed.additionalProperties = any
  } else if (closed.properties || Object.keys(patterns).length > 0) {
    closed.additionalProperties = false
  }
  return closed
}

const options = {
  allErrors: false,
  strict: false,
  useDefaults: true,
  // Schemas are ours and fixed: no caller's text is ever compiled.
  validateSchema: false,
  addUsedSchema: false,
  // An error comes with the schema that it is about.
  verbose: true,
} as const

const TIME = /^(\d{4}-\d\d-(\d\d))T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i

/** RFC 3339, without what a Date cannot hold: the 61st second of a minute. */
const isTime = (text: string): boolean => {
  const [, date, day] = TIME.exec(text) ?? []
  // A Date takes 30 February for 1 March.
  return !Number.isNaN(Date.parse(text)) && new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day)
}

/** The formats of JSON Schema, where PostgreSQL and Date agree with them: to neither is `urn:uuid:…` a UUID. */
const withFormats = (ajv: Ajv): Ajv =>
  addFormats.default(ajv).addFormat("uuid", isUuid).addFormat("date-time", isTime)

const forJson = withFormats(new Ajv(options))
/** Path and query arrive as text. */
const forText = withFormats(new Ajv({ ...options, coerceTypes: "array" }))

/** A field's name may be the caller's own text, of any length. */
const LOCATION_LENGTH_MAX = 200

const where = (part: string, error: ErrorObject): string => {
  const path = error.instancePath.split("/").slice(1)
  const extra: Record<string, unknown> = error.params
  const field = extra.additionalProperty ?? extra.missingProperty ?? extra.propertyName
  const steps = path.map(step => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  return [part, ...steps, ...(typeof field === "string" ? [field] : [])]
    .join(".")
    .slice(0, LOCATION_LENGTH_MAX)
}

const why = (error: ErrorObject): string => {
  if (error.keyword === "additionalProperties") return "is not a field of this request"
  if (error.keyword === "required") return "is required"
  if (error.keyword === "propertyNames") return "is not a name that this field takes"
  const allowed: unknown = error.parentSchema?.enum
  if (Array.isArray(allowed)) return `must be one of ${allowed.join(", ")}`
  return error.message ?? "is not valid"
}

/** Says what is wrong with content that did not come as a request; undefined where nothing is. */
export const contentCheck = (schema: unknown): ((content: unknown) => string | undefined) => {
  const validate = forJson.compile(close(schema) as Schema)
  return content => {
    const [error] = validate(content) ? [] : (validate.errors ?? [])
    return error && `${where("content", error)} ${why(error)}`
  }
}

/** What is wrong with the content of a file that an operator wrote; undefined where nothing is. Completes it with defaults. */
export const fileProblem = (schema: unknown, content: unknown): string | undefined =>
  contentCheck(schema)(content)

/** The code that a field has for values it does not take, where that is not `validation_failed`. */
const codeOf = ({ parentSchema }: ErrorObject): { code?: FaultCode } => {
  const code: unknown = parentSchema?.[FIELD_FAULT]
  return typeof code === "string" && code in faults ? { code: code as FaultCode } : {}
}

export interface Validator {
  /** False when the schema has no field, so that nothing at all is valid as it is. */
  readonly takesFields: boolean
  /** Checks and completes (defaults) the value in place. Says what is wrong, or undefined. */
  check(value: unknown): RefusedField[] | undefined
  /** Puts back the digits of `exact` where a value is the caller's own, changing `checked` in place. */
  restore(checked: unknown, exact: unknown): unknown
}

const validator = (ajv: Ajv, part: string, schema: TObject): Validator => {
  // Compiled on first use: an idle operation costs neither start time nor memory.
  let compiled: ValidateFunction | undefined
  let own: OwnPlaces | undefined
  return {
    takesFields: Object.keys(schema.properties).length > 0,
    check(value) {
      compiled ??= ajv.compile(close(schema) as Schema)
      if (compiled(value)) return undefined
      // What is wrong with a name comes before the error that tells the name.
      const errors = (compiled.errors ?? []).filter(error => error.propertyName === undefined)
      return errors.map(error => ({ location: where(part, error), message: why(error), ...codeOf(error) }))
    },
    restore(checked, exact) {
      own ??= ownPlacesOf(schema)
      return restoreOwn(own, checked, exact)
    },
  }
}

/** Of values that came as JSON, outside the body of an operation. */
export const jsonValidator = (part: string, schema: TObject): Validator => validator(forJson, part, schema)

/** A part of the path that is an id, and the code that says that there is nothing of that id. */
interface PathId {
  readonly name: string
  readonly missing: FaultCode
}

export interface OperationValidators {
  readonly params: Validator | undefined
  /** An id that cannot be one answers like one that does not exist. */
  readonly ids: readonly PathId[]
  readonly query: Validator
  readonly body: Validator | undefined
}

/** What says that an id names nothing is in the order of the path: first the code of `id`, then that of `branch_id`. */
const pathIds = ({ params, faults: codes = [] }: Operation): PathId[] => {
  const missing = codes.filter(code => faults[code].status === 404 || faultSpec(code).meansAbsent)
  return Object.entries(params?.properties ?? {})
    .filter(([name]) => name !== "tenant_id")
    .flatMap(([name, schema], at) => {
      const code = missing[at]
      return (schema as Schema).format === "uuid" && code !== undefined ? [{ name, missing: code }] : []
    })
}

/** Ajv would also take `0x10`, `1e2` for an integer, and text with spaces around it. A number is written as in JSON. */
const WRITTEN = {
  integer: /^(?:0|-?[1-9]\d*)$/,
  number: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i,
} as const

type NumberType = keyof typeof WRITTEN

const numberType = (schema: unknown): NumberType | undefined => {
  const { type, items } = (schema ?? {}) as Schema
  if (type === "array") return numberType(items)
  return type === "integer" || type === "number" ? type : undefined
}

/** For path and query, whose numbers are texts. */
const textValidator = (part: string, schema: TObject): Validator => {
  const inner = validator(forText, part, schema)
  const numbers = Object.entries(schema.properties).flatMap(([name, field]) => {
    const type = numberType(field)
    return type ? [{ name, type }] : []
  })
  if (numbers.length === 0) return inner
  return {
    ...inner,
    check(value) {
      const values = value as Readonly<Record<string, unknown>>
      const wrong = numbers.find(({ name, type }) =>
        [values[name]].flat().some(text => typeof text === "string" && !WRITTEN[type].test(text)),
      )
      if (!wrong) return inner.check(value)
      const message = wrong.type === "integer" ? "must be integer" : "must be number"
      return [{ location: `${part}.${wrong.name}`, message }]
    },
  }
}

/** Whether the operation reads JSON where it declares no body: one that is sent must then be empty. */
const refusesBody = ({ method, content, envelope }: Operation): boolean =>
  method !== "GET" && method !== "HEAD" && (content?.request ?? "json") === "json" && envelope !== "s3"

const NOTHING = { type: "object", properties: {} } as unknown as TObject

const bodyOf = (operation: Operation): TObject | undefined =>
  operation.body ?? (refusesBody(operation) ? NOTHING : undefined)

export const createValidators = (operation: Operation): OperationValidators => {
  const body = bodyOf(operation)
  return {
    params: operation.params && textValidator("path", operation.params),
    ids: pathIds(operation),
    query: textValidator("query", operation.query ?? NOTHING),
    body: body && validator(forJson, "body", body),
  }
}
