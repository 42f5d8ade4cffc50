import { FUNCTION_PAYLOAD_BYTES_MAX, type Reply } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Directory } from "./directory.ts"
import { ownerOf } from "./handlers.ts"
import type { Invoker } from "./invoker.ts"
import type { DeployedRow } from "./store.ts"
import { readReply, shownHeaders } from "./url-rules.ts"

export interface UrlHandlerNeeds {
  readonly directory: Directory
  readonly invoker: Invoker
  readonly baseUrl: string
}

const readBody = async ({ stream }: AccountCall): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > FUNCTION_PAYLOAD_BYTES_MAX)
      throw fault("function_payload_too_large", { bytes: FUNCTION_PAYLOAD_BYTES_MAX })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What comes after `/v1/functions/{id}/http` or `/v1/functions/public/{id}`, exactly as it was sent. */
const restOf = (target: string): string => `/${target.split("/").slice(5).join("/")}`

export const urlHandlers = ({ directory, invoker, baseUrl }: UrlHandlerNeeds) => {
  const answer = async (row: DeployedRow, call: AccountCall, isKeyed: boolean): Promise<Reply<200>> => {
    const { method } = call.operation
    const body = method === "GET" ? Buffer.alloc(0) : await readBody(call)
    const request = {
      ...{ method, url: new URL(baseUrl).origin + restOf(call.target) },
      headers: shownHeaders(call, isKeyed),
      body: body.toString("base64"),
    }
    const outcome = await invoker.invoke({
      ...{ row, trigger: "http", frame: { t: "request", request } },
      ...{ payloadBytes: body.length, requestId: call.requestId },
    })
    const headers = { "x-svc-invocation-id": outcome.invocationId }
    if (outcome.status === "timeout") throw fault("function_timed_out", undefined, { headers })
    if (outcome.error) throw fault("function_failed", { type: outcome.error.type }, { headers })
    const read = readReply(outcome.reply)
    if (!read) throw fault("function_failed", { type: "InvalidResponse" }, { headers })
    // The contract names two of the statuses that a function may choose.
    return { status: read.status as 200, body: read.body, headers: { ...read.headers, ...headers } }
  }

  const keyed = async ({ id }: { id: string }, call: Call) =>
    answer(await directory.find(ownerOf(call), id), call, true)
  const open = async ({ id }: { id: string }, call: AccountCall) =>
    answer(await directory.findPublic(id), call, false)

  return {
    ...{ httpGet: keyed, httpPost: keyed, httpPut: keyed, httpPatch: keyed, httpDelete: keyed },
    ...{ publicGet: open, publicPost: open, publicPut: open, publicPatch: open, publicDelete: open },
  }
}
