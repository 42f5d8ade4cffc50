import { randomUUID } from "node:crypto"
import { Readable } from "node:stream"
import type { Operation } from "@svc/contract"
import type { Principal, ProjectFacts } from "../call.ts"
import { parseJson } from "../exact-json.ts"
import type { Incoming } from "../exchange.ts"
import { fault } from "../fault.ts"
import type { BoundOperation } from "../implement.ts"
import type { Pipeline, PipelineResult } from "../pipeline.ts"

export interface InProcessRequest {
  /** `kv.set`. */
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly principal: Principal
  readonly project: ProjectFacts | null
  readonly ip: string
  readonly headers?: Readonly<Record<string, string>>
  readonly approvalId?: string
  /** The body of an operation that takes bytes. */
  readonly bytes?: Uint8Array
  /** Whether another process of the platform can be asked instead; the result then says who. */
  readonly canGoOn?: boolean
  readonly signal?: AbortSignal
}

export type InProcessCaller = (request: InProcessRequest) => Promise<PipelineResult>

type Part = "params" | "query" | "body"

const pick = (
  operation: Operation,
  part: Part,
  input: InProcessRequest["input"],
): Record<string, unknown> => {
  const fields = operation[part]?.properties ?? {}
  return Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(fields, name)))
}

/** What belongs to neither path nor query is the body's, so that an unknown field is refused as over HTTP. */
const bodyOf = (operation: Operation, input: InProcessRequest["input"]): Record<string, unknown> => {
  const elsewhere = { ...operation.params?.properties, ...operation.query?.properties }
  return Object.fromEntries(Object.entries(input).filter(([name]) => !Object.hasOwn(elsewhere, name)))
}

const jsonOf = (operation: Operation, input: InProcessRequest["input"]): unknown => {
  const body = bodyOf(operation, input)
  return operation.bodyAs === undefined ? body : body[operation.bodyAs]
}

/** Values of other types are refused by validation, which comes later; not all of them can be written as text. */
const pathText = (value: unknown): string =>
  typeof value === "string" || typeof value === "number"
    ? encodeURIComponent(String(value).toWellFormed())
    : ""

const fillPath = (operation: Operation, params: Record<string, unknown>): string =>
  operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathText(params[name]))

/** A copy, since validation completes and renames fields in place; refused where it is longer than over HTTP. */
const readJson = (value: unknown, bytesMax: number): unknown => {
  if (value === undefined) return undefined
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > bytesMax) throw fault("payload_too_large", { bytes: bytesMax })
  return parseJson(text)
}

/** Calls operations from inside the process, through the same stages as HTTP but for the credential itself. */
export const createInProcessCaller = (
  pipeline: Pipeline,
  operations: readonly BoundOperation[],
): InProcessCaller => {
  const byName = new Map(operations.map(bound => [bound.operation.name, bound]))

  return request => {
    const bound = byName.get(request.operation)
    if (!bound) throw new Error(`no operation is called ${request.operation}`)
    const { operation } = bound
    const params = pick(operation, "params", request.input)
    const headers: Record<string, string> = {
      ...request.headers,
      ...(request.project && { "x-svc-project": request.project.id }),
      ...(request.bytes && { "content-length": String(request.bytes.byteLength) }),
      "x-request-id": request.headers?.["x-request-id"] ?? randomUUID(),
    }
    const path = fillPath(operation, params)
    const incoming: Incoming = {
      ip: request.ip,
      path,
      target: path,
      params,
      query: pick(operation, "query", request.input),
      header: name => headers[name],
      headerNames: () => Object.keys(headers),
      json: async bytesMax => readJson(jsonOf(operation, request.input), bytesMax),
      form: async bytesMax => readJson(jsonOf(operation, request.input), bytesMax),
      stream: () => Readable.from(request.bytes ? [request.bytes] : [], { objectMode: false }),
      signal: () => request.signal ?? new AbortController().signal,
      principal: request.principal,
      ...(request.approvalId !== undefined && { approvalId: request.approvalId }),
      ...(request.canGoOn !== undefined && { canGoOn: request.canGoOn }),
    }
    return pipeline(bound, incoming)
  }
}
