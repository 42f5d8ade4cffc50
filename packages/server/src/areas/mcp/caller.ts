/** Calls an operation for a tool: through the stages that a request passes, as the caller and in the caller's project. */
import type { Operation } from "@svc/contract"
import { describeScopes } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { fault } from "../../kernel/fault.ts"
import { isJsonObject } from "../../kernel/json-object.ts"
import type { PipelineResult } from "../../kernel/pipeline.ts"
import { resultOf, type ToolResult, textResult } from "./results.ts"
import { FILE_FIELDS, takesFile } from "./tools.ts"

type Arguments = Readonly<Record<string, unknown>>

/** How a request is called off from a tool, and which headers go on with it. */
const headersOf = (call: Call, type: string | undefined): Record<string, string> => {
  const agent = call.header("user-agent")
  const key = call.header("idempotency-key")
  return {
    "x-request-id": call.requestId,
    ...(agent !== undefined && { "user-agent": agent }),
    ...(key !== undefined && { "idempotency-key": key }),
    ...(type !== undefined && { "content-type": type }),
  }
}

/** What a file given as text is, unless its caller says otherwise. */
const TEXT_TYPE = "text/plain; charset=utf-8"
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const fileOf = (given: Arguments): Uint8Array | string => {
  const { content, content_base64, content_type = TEXT_TYPE } = given
  if (typeof content_type !== "string" || !/^[\x20-\x7e]{1,200}$/.test(content_type))
    return "content_type is not a media type"
  if (content_base64 === undefined)
    return typeof content === "string" ? Buffer.from(content) : "content is required, as text"
  if (content !== undefined) return "content and content_base64 mean the same; send one of them"
  return typeof content_base64 === "string" && BASE64.test(content_base64)
    ? Buffer.from(content_base64, "base64")
    : "content_base64 is not base64"
}

const splitFile = (operation: Operation, given: Arguments) => {
  if (!takesFile(operation)) return { input: given }
  const input = Object.fromEntries(
    Object.entries(given).filter(([name]) => !Object.hasOwn(FILE_FIELDS, name)),
  )
  const file = fileOf(given)
  if (typeof file === "string") throw fault("invalid_parameter", { reason: file })
  const type = given.content_type ?? (given.content_base64 === undefined ? TEXT_TYPE : undefined)
  return { input, bytes: file, type: type as string | undefined }
}

/** The caller may not use the tool at all: a refusal of the call, where other refusals are results of the tool. */
const checkAccess = (operation: Operation, { reply }: PipelineResult): void => {
  const code = reply.status === 403 && isJsonObject(reply.body) ? reply.body.code : undefined
  if (code === "missing_scope") throw fault("missing_scope", { scopes: describeScopes(operation.scope) })
  if (code === "key_read_only" || code === "organization_reach_required") throw fault(code)
}

/** What waits for a person is no failure: the caller can wait for it. */
const pendingResult = (body: unknown, baseUrl: string): ToolResult => {
  const { approval } = body as { approval: { id: string } & Record<string, unknown> }
  const url = `${baseUrl}/console/approvals/${approval.id}`
  return textResult(
    `This waits for a person's approval: ${url}\nCall wait_for_approval with id ${approval.id} to wait for the decision. Nothing has been done yet.`,
    { status: "pending_approval", approval: { ...approval, url } },
  )
}

const isPending = ({ status, body }: PipelineResult["reply"]): boolean =>
  status === 202 && isJsonObject(body) && body.status === "pending_approval"

export interface Caller {
  run(operation: Operation, given: Arguments, call: Call): Promise<ToolResult>
}

export const createCaller = ({
  inProcess,
  baseUrl,
}: {
  readonly inProcess: InProcessCaller
  readonly baseUrl: string
}): Caller => ({
  async run(operation, given, call) {
    const { input, bytes, type } = splitFile(operation, given)
    const result = await inProcess({
      operation: operation.name,
      input,
      principal: call.principal,
      project: call.project,
      ip: call.ip,
      headers: headersOf(call, type),
      ...(bytes && { bytes }),
      canGoOn: true,
      signal: call.signal,
    })
    // The request as a whole goes on to the process that can.
    if (result.elsewhere) throw fault("service_unavailable", undefined, { elsewhere: result.elsewhere })
    checkAccess(operation, result)
    if (isPending(result.reply)) return pendingResult(result.reply.body, baseUrl)
    return resultOf(result.reply, `${baseUrl}${operation.path}`)
  },
})
