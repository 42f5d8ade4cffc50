/** Every reply that a test sees is held against the contract, and its status noted for the ledger of gaps. */
import assert from "node:assert/strict"
import { appendFileSync } from "node:fs"
import {
  allOperations,
  faultCodes,
  faults,
  impliedFaults,
  isList,
  type Operation,
  transportFaults,
  wireCode,
} from "@svc/contract"
import { Ajv } from "ajv"
import addFormats from "ajv-formats"

const LEDGER_VARIABLE = "SVC_TEST_LEDGER"

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: false }))

const patternOf = ({ path, rest }: Operation): RegExp => {
  const pattern = path.replaceAll(/\{\w+\}/g, "[^/]+")
  return new RegExp(`^${rest ? pattern.replace(/\[\^\/\]\+$/, ".+") : pattern}$`)
}
const patterns = allOperations.map(operation => ({ operation, pattern: patternOf(operation) }))

/** The operation of a request: of several that fit, the one with the fewest parameters, as the router chooses. */
export const operationOf = (method: string, url: string): Operation | undefined =>
  patterns
    .filter(({ operation, pattern }) => operation.method === method && pattern.test(new URL(url).pathname))
    .sort((a, b) => a.operation.path.split("{").length - b.operation.path.split("{").length)[0]?.operation

const errorSchema = {
  type: "object",
  required: ["code", "error", "docs_url", "request_id"],
  additionalProperties: false,
  properties: {
    code: { enum: [...new Set(faultCodes.map(wireCode))] },
    error: { type: "string", minLength: 1 },
    docs_url: { type: "string" },
    request_id: { type: "string" },
    errors: { type: "array" },
    details: { type: "object" },
    /** On OAuth's routes, whose `error` is the registered name. */
    error_description: { type: "string" },
  },
}

/** PostgreSQL's fields of an error, which Neon's driver reads; `code` is its SQLSTATE where it has one. */
const neonErrorSchema = {
  type: "object",
  required: ["code", "message", "severity", "request_id"],
  properties: { code: { type: "string", minLength: 1 }, message: { type: "string" } },
}
const errorSchemaOf = ({ name }: Operation): object =>
  name === "sql.neonQuery" ? neonErrorSchema : errorSchema

const check = (schema: object, value: unknown, where: string) => {
  const validate = ajv.compile(schema)
  assert.ok(validate(value), `${where}: the reply is not as declared: ${ajv.errorsText(validate.errors)}`)
}

const SQLSTATE = /^[0-9A-Z]{5}$/

/** The codes with which the operation may refuse by that status. */
const refusalsAt = (operation: Operation, status: number): string[] =>
  [...(operation.faults ?? []), ...impliedFaults(operation), ...transportFaults]
    .filter(code => faults[code].status === status)
    .map(wireCode)

/** Our fields of a refusal, which the registry's error shape has as a detail. */
const refusalOf = ({ envelope }: Operation, body: unknown): unknown => {
  if (envelope !== "oci") return body
  const [error] = (body as { errors: { code: string; message: string; detail: object }[] }).errors
  assert.match(error?.code ?? "", /^[A-Z_]+$/)
  return { ...error?.detail, error: error?.message }
}

const checkReply = (operation: Operation, status: number, replied: unknown) => {
  const where = `${operation.name} ${status}`
  const body = status >= 400 ? refusalOf(operation, replied) : replied
  if (status >= 400) {
    check(errorSchemaOf(operation), body, where)
    const codes = refusalsAt(operation, status)
    assert.ok(
      codes.length > 0,
      `${where}: answers a status that it does not declare; add the fault to its declaration`,
    )
    const { code } = body as { code: string }
    // To Neon's driver PostgreSQL's own codes are told.
    const isSqlState = operation.name === "sql.neonQuery" && SQLSTATE.test(code)
    assert.ok(
      isSqlState || codes.includes(code),
      `${where}: answers the code ${code}, which it does not declare for that status; add the fault to its declaration`,
    )
    return
  }
  if (status === 202 && operation.risk) return
  assert.ok(status in operation.replies, `${where}: answers a status that it does not declare`)
  const schema = operation.replies[status]
  if (!schema) return
  const payload = operation.envelope === "data" && !isList(schema) ? (body as { data: unknown }).data : body
  check(schema, payload, where)
}

const noted = new Set<string>()

/** The header tells what of ours was refused, whatever status another protocol has for it. */
const note = (operation: Operation, status: number, errorCode: string | null) => {
  const code = operation.envelope === "s3" && faultCodes.find(known => wireCode(known) === errorCode)
  const line = `${operation.name} ${code ? faults[code].status : status}\n`
  const ledger = process.env[LEDGER_VARIABLE]
  if (ledger === undefined || noted.has(line)) return
  noted.add(line)
  appendFileSync(ledger, line)
}

/** Notes a reply that a client of another protocol got. */
export const noteReply = (method: string, url: string, status: number, errorCode: string | null): void => {
  const operation = operationOf(method, url)
  if (operation) note(operation, status, errorCode)
}

/** `fetch`, with every reply of a declared operation checked. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const method = init?.method ?? "GET"
  const operation = operationOf(method, String(input))
  assert.ok(response.headers.get("x-request-id"), `${method} ${input}: the reply has no x-request-id`)
  if (!operation) return response
  note(operation, response.status, response.headers.get("x-error-code"))
  // What a function answers behind its URL is its own.
  const isOwn = operation.content?.reply === "bytes" && response.headers.get("x-error-code") === null
  const isJson =
    !isOwn && response.headers.get("content-type")?.startsWith("application/json") && method !== "HEAD"
  if (isJson) checkReply(operation, response.status, await response.clone().json())
  return response
}
