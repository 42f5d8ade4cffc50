import type { FaultCode, Operation } from "@svc/contract"
import { isRawNumber, toDoubles } from "../exact-json.ts"
import type { Exchange, Stage } from "../exchange.ts"
import { fault, type InvalidField, isFault } from "../fault.ts"
import { isUuid } from "../id.ts"
import { createValidators, type OperationValidators, type Validator } from "../validation.ts"
import { checkTenant } from "./authorize.ts"

const DEPTH_MAX = 64

/**
 * Whether the value has numbers that keep their digits. Deep nesting can exhaust the stack of whatever walks the value
 * later, and a number like 1e400 is infinite to whoever computes with it.
 */
const checkShape = (value: unknown, levelsLeft: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (isRawNumber(value)) {
    if (Number.isFinite(Number(value.rawJSON))) return true
    return refuse([{ location: "body", message: "must not contain numbers beyond the range of a double" }])
  }
  if (levelsLeft === 0) throw fault("json_too_deep", { limit: DEPTH_MAX })
  let isExact = false
  if (Array.isArray(value)) {
    for (const part of value) isExact = checkShape(part, levelsLeft - 1) || isExact
  } else {
    for (const key in value)
      isExact = checkShape((value as Record<string, unknown>)[key], levelsLeft - 1) || isExact
  }
  return isExact
}

/** PostgreSQL's text and jsonb hold neither a null character nor half of a surrogate pair. */
const isStorable = (value: unknown): boolean => {
  if (typeof value === "string") return !value.includes("\0") && value.isWellFormed()
  if (typeof value !== "object" || value === null) return true
  if (Array.isArray(value)) return value.every(isStorable)
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner))
}

const checkStorable = (location: string, value: unknown) => {
  if (isStorable(value)) return
  refuse([{ location, message: "must not contain null characters or halves of surrogate pairs" }])
}

/** Lone surrogates are left to areas that store bytes, because they have errors of their own for them. */
const checkTexts = ({ nulFields }: Operation, fields: Readonly<Record<string, unknown>>) => {
  if (!nulFields) return checkStorable("body", fields)
  for (const name in fields) {
    if (!nulFields.includes(name)) checkStorable(`body.${name}`, fields[name])
  }
}

const refuse = (errors: readonly InvalidField[]): never => {
  throw fault("validation_failed", undefined, { errors })
}

const check = (validator: Validator, value: unknown) => {
  const errors = validator.check(value)
  if (!errors) return
  const code = errors[0]?.code ?? "validation_failed"
  throw fault(code, undefined, { errors: errors.map(({ location, message }) => ({ location, message })) })
}

/** Gives a field that came under another accepted name its own name. */
const unalias = (body: Record<string, unknown>, aliases: Readonly<Record<string, string>>) => {
  for (const [alias, name] of Object.entries(aliases)) {
    if (!(alias in body)) continue
    if (name in body)
      refuse([{ location: `body.${alias}`, message: `means the same as ${name}; send one of them` }])
    body[name] = body[alias]
    delete body[alias]
  }
}

const checkBody = (operation: Operation, validator: Validator, body: unknown): Record<string, unknown> => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return refuse([{ location: "body", message: "must be a JSON object" }])
  }
  const fields = body as Record<string, unknown>
  if (operation.aliases) unalias(fields, operation.aliases)
  if (checkShape(fields, DEPTH_MAX)) return checkExact(operation, validator, fields)
  check(validator, fields)
  checkTexts(operation, fields)
  return fields
}

/** A body with numbers that keep their digits: it is checked as doubles, and what is the caller's own stays as it came. */
const checkExact = (
  operation: Operation,
  validator: Validator,
  exact: Record<string, unknown>,
): Record<string, unknown> => {
  const fields = toDoubles(exact) as Record<string, unknown>
  check(validator, fields)
  checkTexts(operation, fields)
  return validator.restore(fields, exact) as Record<string, unknown>
}

const isEmpty = (values: object): boolean => {
  for (const _ in values) return false
  return true
}

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({})

const ID_SHOWN_MAX = 100

const checkId = (id: unknown, missing: FaultCode) => {
  if (typeof id !== "string" || isUuid(id)) return
  throw fault(missing, { id: id.slice(0, ID_SHOWN_MAX) })
}

/** A field of the body that is named in the path too must say the same. */
const checkNamedTwice = (
  body: Readonly<Record<string, unknown>>,
  params: Readonly<Record<string, unknown>>,
) => {
  for (const name in params) {
    if (name in body && name !== "tenant_id" && body[name] !== params[name])
      refuse([{ location: `body.${name}`, message: "is not the one in the path" }])
  }
}

/** The path's or the query's values, checked and completed. Most operations have none, and pay nothing for it. */
const checkOuter = (
  location: string,
  validator: Validator | undefined,
  sent: Readonly<Record<string, unknown>>,
) => {
  if (!validator || (isEmpty(sent) && !validator.takesFields)) return NOTHING
  const values = { ...sent }
  check(validator, values)
  checkStorable(location, values)
  return values
}

/** Checks params, query and body against the declaration and merges them into one flat input. */
export const validate: Stage = exchange => {
  const { operation, incoming } = exchange
  const validators = validatorsOf(operation)
  for (const { name, missing } of validators.ids) checkId(incoming.params[name], missing)
  const params = checkOuter("path", validators.params, incoming.params)
  const query = checkOuter("query", validators.query, incoming.query)
  const outer = params === NOTHING && query === NOTHING ? NOTHING : { ...query, ...params }
  if (validators.body) return readBody(exchange, validators.body, outer)
  exchange.input = outer
  return undefined
}

const readBody = async (
  exchange: Exchange,
  validator: Validator,
  outer: Readonly<Record<string, unknown>>,
): Promise<undefined> => {
  const { operation } = exchange
  const sent = await readJson(exchange)
  const fields = operation.bodyAs === undefined || sent === undefined ? sent : { [operation.bodyAs]: sent }
  const body = checkBody(operation, validator, fields === undefined ? {} : fields)
  if ("tenant_id" in body) checkTenant(exchange, body.tenant_id)
  checkNamedTwice(body, exchange.incoming.params)
  exchange.input = outer === NOTHING ? body : Object.assign(body, outer)
}

const readJson = async ({ operation, incoming }: Exchange): Promise<unknown> => {
  const { bodyBytesMax, tooLarge, textAsJson } = operation
  if (operation.content?.request === "form") return incoming.form(bodyBytesMax)
  if (tooLarge === undefined) return incoming.json(bodyBytesMax, textAsJson)
  try {
    return await incoming.json(bodyBytesMax, textAsJson)
  } catch (error) {
    throw isFault(error, "payload_too_large") ? fault(tooLarge, { bytes: bodyBytesMax }) : error
  }
}

const compiled = new WeakMap<Operation, OperationValidators>()

const validatorsOf = (operation: Operation): OperationValidators => {
  const known = compiled.get(operation)
  if (known) return known
  const validators = createValidators(operation)
  compiled.set(operation, validators)
  return validators
}
