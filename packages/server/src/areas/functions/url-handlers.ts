import type { Readable } from "node:stream"
import { FUNCTION_PAYLOAD_BYTES_MAX, type Reply } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Directory } from "./directory.ts"
import { auditTarget } from "./handlers.ts"
import type { Invoker, StreamedReply } from "./invoker.ts"
import type { DeployedRow } from "./store.ts"
import { type ReplyHead, readHead, readReply, shownHeaders } from "./url-rules.ts"
import type { Outcome } from "./work.ts"

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

/** The contract names two of the statuses that a function may choose. */
const replyWith = ({ status, headers }: ReplyHead, own: object, body: Uint8Array | Readable): Reply<200> => ({
  ...{ status: status as 200, body, headers: { ...headers, ...own } },
})

const invalid = (headers: Record<string, string>) =>
  fault("function_failed", { type: "InvalidResponse" }, { headers })

const streamedReply = ({ invocationId, reply, body }: StreamedReply): Reply<200> => {
  const headers = { "x-svc-invocation-id": invocationId }
  const head = readHead(reply)
  if (head) return replyWith(head, headers, body)
  body.destroy()
  throw invalid(headers)
}

const wholeReply = (outcome: Outcome & { readonly invocationId: string }): Reply<200> => {
  const headers = { "x-svc-invocation-id": outcome.invocationId }
  if (outcome.status === "timeout") throw fault("function_timed_out", undefined, { headers })
  if (outcome.error) throw fault("function_failed", { type: outcome.error.type }, { headers })
  const read = readReply(outcome.reply)
  if (!read) throw invalid(headers)
  return replyWith(read, headers, read.body)
}

export const urlHandlers = ({ directory, invoker, baseUrl }: UrlHandlerNeeds) => {
  const answer = async (row: DeployedRow, call: AccountCall, isKeyed: boolean): Promise<Reply<200>> => {
    const { method } = call.operation
    const body = method === "GET" ? Buffer.alloc(0) : await readBody(call)
    const request = {
      ...{ method, url: new URL(baseUrl).origin + restOf(call.target) },
      headers: shownHeaders(call, isKeyed),
      body: body.toString("base64"),
    }
    const begun = Promise.withResolvers<StreamedReply>()
    const outcome = invoker.invoke({
      ...{ row, trigger: "http", frame: { t: "request", request } },
      ...{ payloadBytes: body.length, requestId: call.requestId },
      ...{ signal: call.signal, stream: begun.resolve },
    })
    const first = await Promise.race([outcome, begun.promise])
    // How a streamed reply ends is told by its body.
    if ("body" in first) outcome.catch(() => undefined)
    return "body" in first ? streamedReply(first) : wholeReply(first)
  }

  const keyed = async ({ id }: { id: string }, call: Call) =>
    answer(await directory.find(call.projectTenant, id), call, true)
  const open = async ({ id }: { id: string }, call: AccountCall) => {
    const row = await directory.findPublic(id)
    // Who calls belongs to nobody; what he changes is its owner's.
    call.describe({ tenantId: row.organization_id, targets: [auditTarget(row)] })
    return answer(row, call, false)
  }

  return {
    ...{ httpGet: keyed, httpPost: keyed, httpPut: keyed, httpPatch: keyed, httpDelete: keyed },
    ...{ publicGet: open, publicPost: open, publicPut: open, publicPatch: open, publicDelete: open },
  }
}
