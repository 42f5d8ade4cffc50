import { randomUUID } from "node:crypto"
import { Readable } from "node:stream"
import type { Operation } from "@svc/contract"
import type { Principal, ProjectFacts } from "../call.ts"
import { cloneJson } from "../exact-json.ts"
import type { Incoming } from "../exchange.ts"
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
  return Object.fromEntries(Object.entries(input).filter(([name]) => name in fields))
}

/** What belongs to neither path nor query is the body's, so that an unknown field is refused as over HTTP. */
const bodyOf = (operation: Operation, input: InProcessRequest["input"]): Record<string, unknown> => {
  const elsewhere = { ...operation.params?.properties, ...operation.query?.properties }
  return Object.fromEntries(Object.entries(input).filter(([name]) => !(name in elsewhere)))
}

const jsonOf = (operation: Operation, input: InProcessRequest["input"]): unknown => {
  const body = bodyOf(operation, input)
  return operation.bodyAs === undefined ? body : body[operation.bodyAs]
}

const fillPath = (operation: Operation, params: Record<string, unknown>): string =>
  operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))

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
      // A copy: validation completes and renames fields in place.
      json: async () => cloneJson(jsonOf(operation, request.input)),
      stream: () => Readable.from([]),
      signal: () => request.signal ?? new AbortController().signal,
      principal: request.principal,
      ...(request.approvalId !== undefined && { approvalId: request.approvalId }),
    }
    return pipeline(bound, incoming)
  }
}
